//! The GPT-2 pattern by hand.
//!
//! Enters: a document and the start of a pretoken. Leaves: where that pretoken ends. Cost: one table
//! lookup per character. Invariant: a start is all the context there is, so scanning may begin at any.
//! Source: the published pattern, read alternative by alternative; the differential tests compare with a
//! regex engine.

use super::unicode::{LETTER, NUMBER, SPACE, class_at, skip};

/// The end of the pretoken that starts at `at`; `at` itself only at the end of the text.
pub(super) fn next_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let Some((mut class, n_bytes)) = class_at(text, at) else { return at };
    if bytes[at] == b'\'' {
        let n_letters = contraction(bytes.get(at + 1..).unwrap_or_default());
        if n_letters > 0 {
            return at + 1 + n_letters;
        }
    }
    let mut end = at + n_bytes;
    if class & SPACE != 0 {
        match class_at(text, end) {
            Some((next, n_next)) if bytes[at] == b' ' && next & SPACE == 0 => {
                class = next;
                end += n_next;
            }
            _ => return spaces_end(text, at),
        }
    }
    let kind = class & (LETTER | NUMBER);
    skip(text, end, |class| class & (LETTER | NUMBER) == kind && class & SPACE == 0)
}

/// How many letters of a contraction follow the apostrophe.
fn contraction(rest: &[u8]) -> usize {
    match rest {
        [b's' | b'd' | b'm' | b't', ..] => 1,
        [b'l', b'l', ..] | [b'v', b'e', ..] | [b'r', b'e', ..] => 2,
        _ => 0,
    }
}

/// `\s+(?!\S)|\s+`: a run keeps its last character for what follows, unless it ends the text or is
/// one character long.
pub(super) fn spaces_end(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut last = at;
    while let Some((class, n_bytes)) = class_at(text, end) {
        if class & SPACE == 0 {
            return if last > at { last } else { end };
        }
        last = end;
        end += n_bytes;
    }
    end
}
