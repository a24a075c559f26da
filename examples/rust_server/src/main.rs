//! Counts the tokens of each body that is posted: `rust-server MODEL [PATTERN]`, which prints the address it listens at.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use pairloom_core::Tokenizer;

const MAX_BODY: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a model file")?;
    let tokenizer = Tokenizer::load(path, arguments.next().as_deref())?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let (mut stream, tokenizer) = (stream?, tokenizer.clone());
        std::thread::spawn(move || -> std::io::Result<()> {
            let mut reader = BufReader::new(stream.try_clone()?.take(MAX_BODY));
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line)? > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                line.clear();
            }
            let mut body = String::new();
            let read = reader.take(length).read_to_string(&mut body);
            let answer = match read.map(|_| tokenizer.count(&body)) {
                Ok(Ok(count)) => format!("HTTP/1.1 200 OK\r\n\r\n{count}\n"),
                Ok(Err(error)) => format!("HTTP/1.1 400 Bad Request\r\n\r\n{error}\n"),
                Err(error) => format!("HTTP/1.1 400 Bad Request\r\n\r\n{error}\n"),
            };
            stream.write_all(answer.as_bytes())
        });
    }
    Ok(())
}
