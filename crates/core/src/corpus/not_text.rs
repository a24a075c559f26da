//! Recognises files that are not text by their first bytes.

/// Returns what kind of file starts with `begin` (512 bytes suffice) and the remedy; `None` if it may be text.
///
/// Some such files are entirely valid UTF-8, for example a tar archive of text files. Without this check they would
/// silently become training text.
pub fn not_text(begin: &[u8]) -> Option<&'static str> {
    Some(match begin {
        [0x1f, 0x8b, ..] => {
            "the file is compressed with gzip: decompress it, or name it .gz and read it as a corpus"
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "the file is compressed with zstd: decompress it, or name it .zst and read it as a corpus"
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            "the file is compressed with xz: decompress it, or name it .xz and read it as a corpus"
        }
        [b'B', b'Z', b'h', _, b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
            "the file is compressed with bzip2: decompress it, or name it .bz2 and read it as a corpus"
        }
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            "the file is compressed with LZ4, which is not read: decompress it, or compress it with gzip or zstd"
        }
        [0x1f, 0x9d, ..] => {
            "the file is compressed with compress (.Z): decompress it, or compress it with gzip or zstd"
        }
        // 0x15 is the Thrift code of the first field of a page.
        [b'P', b'A', b'R', b'1', 0x15, ..] => "the file is Parquet: name it .parquet and read it as a corpus",
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => {
            "the file is Arrow: name it .arrow and read it as a corpus"
        }
        [b'F', b'E', b'A', b'1', 0, ..] => {
            "the file is Feather V1, which is not read: write it as Feather V2 (Arrow) or Parquet"
        }
        [b'O', b'b', b'j', 1, ..] => {
            "the file is Avro, which is not read: write its text to JSON lines or Parquet"
        }
        [b'P', b'K', 3, 4, ..] => {
            "the file is a zip archive (so are .docx, .xlsx and .epub): unpack it, and pass the text files"
        }
        [b'%', b'P', b'D', b'F', b'-', ..] => {
            "the file is a PDF: extract its text first, for example with pdftotext"
        }
        _ if begin.starts_with(b"version https://git-lfs.github.com/spec/") => {
            "the file is a Git LFS pointer, not the data: fetch the data with `git lfs pull`"
        }
        _ if begin.get(257..262) == Some(b"ustar") => {
            "the file is a tar archive: unpack it, and pass the folder with its files"
        }
        _ => return None,
    })
}
