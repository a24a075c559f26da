//! Recognises files that are not text by their first bytes.

/// Returns what kind of file starts with `begin` (512 bytes suffice) and the remedy; `None` if it may be text.
///
/// Some such files are entirely valid UTF-8, for example a tar archive of text files. Without this check they would
/// silently become training text.
pub fn not_text(begin: &[u8]) -> Option<&'static str> {
    Some(match begin {
        [0x1f, 0x8b, ..] => {
            "the file is compressed by gzip: decompress it, or give it the suffix .gz in a corpus"
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "the file is compressed by zstd: decompress it, or give it the suffix .zst in a corpus"
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            "the file is compressed by xz: decompress it, or give it the suffix .xz in a corpus"
        }
        [b'B', b'Z', b'h', _, b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
            "the file is compressed by bzip2: decompress it, or give it the suffix .bz2 in a corpus"
        }
        // 0x15 is the Thrift code of the first field of a page.
        [b'P', b'A', b'R', b'1', 0x15, ..] => {
            "the file is Parquet: read it as a corpus, with the suffix .parquet"
        }
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => {
            "the file is Arrow: read it as a corpus, with the suffix .arrow"
        }
        [b'P', b'K', 3, 4, ..] => {
            "the file is a zip archive, as .docx, .xlsx and .epub are, too: unpack it, and name the text in it"
        }
        [b'%', b'P', b'D', b'F', b'-', ..] => {
            "the file is a PDF: extract its text first, for instance with pdftotext"
        }
        _ if begin.starts_with(b"version https://git-lfs.github.com/spec/") => {
            "the file is a pointer of Git LFS, not the data: fetch them with `git lfs pull`"
        }
        _ if begin.get(257..262) == Some(b"ustar") => {
            "the file is a tar archive: unpack it, and name the folder with its files"
        }
        _ => return None,
    })
}
