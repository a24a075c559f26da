//! [`Tokenizer`], the type that most programs need: loads a model file of any format, encodes text and decodes ids.

use std::path::Path;
use std::sync::Arc;

use crate::decoder::{DecodeErrors, DecodeStream, Decoder};
use crate::encoder::{Encoder, EncoderOptions, Session, SpecialPolicy};
use crate::error::{Error, Result};
use crate::format;
use crate::ids::AnyId;
use crate::model::CheckedColumns;
use crate::model_file::Model;
use crate::monitor::Silent;
use crate::pretokens::normalizer::{self, Step};
use crate::special::SpecialTokens;
use crate::text::Characters;

/// Turns text into ids and ids into text. Clones share all data, and threads can share one.
///
/// ```
/// use pairloom_core::Tokenizer;
///
/// let file = b"aGVsbG8= 0\nIHdvcmxk 1\nISE= 2\naA== 3\nZQ== 4\nbA== 5\nbw== 6\n";
/// let tokenizer = Tokenizer::from_bytes(file, Some("gpt2"))?;
/// let ids = tokenizer.encode("hello world!!hole")?;
/// assert_eq!(ids, [0, 1, 2, 3, 6, 5, 4]);
/// assert_eq!(tokenizer.count("hello world!!hole")?, 7);
/// assert_eq!(tokenizer.decode(&ids)?, "hello world!!hole");
/// # pairloom_core::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    encoder: Arc<Encoder>,
    decoder: Arc<Decoder>,
    errors: DecodeErrors,
}

impl Tokenizer {
    /// Loads a file of any format that [`format::Format`] names. `pattern`, a name such as "cl100k" or a regular
    /// expression, is for formats that do not state their own, such as .tiktoken; otherwise it is an error.
    pub fn load(path: impl AsRef<Path>, pattern: Option<&str>) -> Result<Self> {
        let path = path.as_ref();
        let data = std::fs::read(path).map_err(Error::io(path))?;
        let model = format::read_any(&data, &path.to_string_lossy(), pattern)?;
        Self::from_model(model, EncoderOptions::default())
    }

    /// Like [`load`](Self::load), but takes the bytes of the file.
    pub fn from_bytes(data: &[u8], pattern: Option<&str>) -> Result<Self> {
        Self::from_model(format::read_any(data, "the file", pattern)?, EncoderOptions::default())
    }

    /// Creates a tokenizer from a model that was read.
    pub fn from_model(model: Model, options: EncoderOptions) -> Result<Self> {
        let steps = normalizer::steps_named(&model.normalizer)?;
        let specials = SpecialTokens::with_rules(model.special_tokens, &model.special_rules)?;
        model.columns.check_specials(specials.tokens())?;
        let tokenizer =
            Self::new(&model.columns, model.ignore_merges, specials, &model.patterns, steps, options)?;
        Ok(Tokenizer { errors: model.decode_errors, ..tokenizer })
    }

    /// Creates a tokenizer from columns and checked `specials`. Bytes that are not UTF-8 decode to U+FFFD.
    pub fn new<S: AsRef<str>>(
        columns: &CheckedColumns,
        ignore_merges: bool,
        specials: SpecialTokens,
        patterns: &[S],
        steps: Vec<Step>,
        options: EncoderOptions,
    ) -> Result<Self> {
        let (vocabulary, pretokenizer) = columns.engine(ignore_merges, patterns, steps)?;
        let decoder =
            Decoder::new(&vocabulary, &specials)?.with_leading_spaces(pretokenizer.leading_spaces());
        let encoder = Encoder::new(Arc::new(vocabulary), Arc::new(pretokenizer), specials, options)?;
        let (encoder, decoder) = (Arc::new(encoder), Arc::new(decoder));
        Ok(Tokenizer { encoder, decoder, errors: DecodeErrors::Replace })
    }

    /// Returns the ids of a text; literals of special tokens become their ids. For untrusted text use
    /// [`encode_ordinary`](Self::encode_ordinary).
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encoder.encode(text, SpecialPolicy::All, &mut ids)?;
        Ok(ids)
    }

    /// Returns the ids of a text; literals of special tokens are encoded as ordinary text.
    pub fn encode_ordinary(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.encoder.encode(text, SpecialPolicy::None, &mut ids)?;
        Ok(ids)
    }

    /// Returns the number of ids that [`encode`](Self::encode) returns.
    pub fn count(&self, text: &str) -> Result<usize> {
        self.encoder.count(&Characters::Utf8(text), SpecialPolicy::All, 1, &Silent)
    }

    /// Returns the text of ids. Bytes that are not UTF-8 are handled as [`decode_errors`](Self::decode_errors) says.
    pub fn decode<I: AnyId>(&self, ids: &[I]) -> Result<String> {
        let mut bytes = Vec::new();
        self.decoder.decode(ids, self.errors, &mut bytes)?;
        self.errors.text_of(bytes)
    }

    /// Returns a stream that takes ids one by one and returns each character once it is complete.
    pub fn decode_stream(&self) -> DecodeStream {
        self.decoder.stream(self.errors)
    }

    /// Starts a session: a text that grows at its end, with its ids.
    pub fn session(&self) -> Session {
        Session::new(Arc::clone(&self.encoder), None)
    }

    /// Returns the largest id + 1.
    pub fn n_ids(&self) -> usize {
        self.encoder.n_ids()
    }

    /// Returns how bytes that are not UTF-8 are decoded, as the model file says.
    pub fn decode_errors(&self) -> DecodeErrors {
        self.errors
    }

    /// Returns the encoder, for batches and files on all cores, arrays of narrower ids, and rules for special tokens.
    pub fn encoder(&self) -> &Arc<Encoder> {
        &self.encoder
    }

    /// Returns the decoder.
    pub fn decoder(&self) -> &Arc<Decoder> {
        &self.decoder
    }
}
