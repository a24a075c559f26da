//! Counts the tokens of each body that is posted: `rust-server MODEL [PATTERN]`, which prints the address it listens at.

use axum::{Router, extract::DefaultBodyLimit, extract::State, http::StatusCode, routing::post};
use pairloom_core::Tokenizer;

const MAX_BODY: usize = 1 << 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a model file")?;
    let tokenizer = Tokenizer::load(path, arguments.next().as_deref())?;
    let app =
        Router::new().route("/", post(count)).layer(DefaultBodyLimit::max(MAX_BODY)).with_state(tokenizer);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

/// A body of a megabyte takes some milliseconds, so others are not kept waiting.
async fn count(State(tokenizer): State<Tokenizer>, text: String) -> Result<String, (StatusCode, String)> {
    let count = tokenizer.count(&text).map_err(|error| (StatusCode::BAD_REQUEST, format!("{error}\n")))?;
    Ok(format!("{count}\n"))
}
