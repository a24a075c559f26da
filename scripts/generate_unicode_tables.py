"""Writes crates/core/src/pretokens/unicode_tables.rs and unicode_blocks.bin: the classes of Unicode 16.0's code points.

    pip install regex==2025.7.34        # the last releases that carry Unicode 16.0
    python scripts/generate_unicode_tables.py

One byte of class bits per code point, in two levels: blocks of 256 code points, each distinct block stored
once. Code points from U+20000 on form few ranges, so they are stored as ranges. A Rust test compares every
code point with the tables of regex-syntax, the engine behind unnamed patterns.
"""

from pathlib import Path

import regex

TARGET = Path(__file__).parent.parent / "crates/core/src/pretokens/unicode_tables.rs"
CLASSES = {
    "LETTER": r"\p{L}",
    "LOWER": r"\p{Ll}",
    "UPPER": r"[\p{Lu}\p{Lt}]",
    "MARK": r"\p{M}",
    "NUMBER": r"\p{N}",
    "SPACE": r"\p{White_Space}",
    "HAN": r"\p{Script=Han}",
    "SYMBOL": r"[\p{P}\p{S}]",
}
BLOCK = 256
DIRECT = 0x20000  # code points below this are in the two-level table, the others in ranges


def class_bytes() -> bytearray:
    """Returns the class bits of every code point; surrogates have none."""
    everything = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    classes = bytearray(0x110000)
    for bit, pattern in enumerate(CLASSES.values()):
        for match in regex.finditer(pattern, everything, regex.V1):
            classes[ord(match.group())] |= 1 << bit
    return classes


def rows(values: list[int]) -> list[str]:
    """Formats the values as lines of Rust, as many per line as fit."""
    lines, line = [], "   "
    for value in values:
        if len(line) + len(str(value)) + 2 > 110:
            lines.append(line)
            line = "   "
        line += f" {value},"
    return [*lines, line]


def main() -> None:
    """Writes the tables."""
    classes = class_bytes()
    blocks: dict[bytes, int] = {}
    index = [
        BLOCK * blocks.setdefault(bytes(classes[start : start + BLOCK]), len(blocks))
        for start in range(0, DIRECT, BLOCK)
    ]
    ranges: list[list[int]] = []
    for code in range(DIRECT, 0x110000):
        if not classes[code]:
            continue
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == classes[code]:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, classes[code]])
    lines = [
        "//! Class bits of code points. Written by scripts/generate_unicode_tables.py; do not edit.",
        "",
        "/// The version of Unicode that decides what a letter, a number and white space are.",
        'pub const UNICODE_VERSION: &str = "16.0.0";',
        "",
    ]
    for bit, (name, pattern) in enumerate(CLASSES.items()):
        lines += [f"/// `{pattern}`", f"pub(super) const {name}: u8 = {1 << bit};"]
    lines += [
        "",
        "/// The first code point that [`RANGES`] describes instead of the blocks.",
        f"pub(super) const DIRECT: u32 = {DIRECT:#x};",
        "",
        "/// Code point / 256 to where its block starts in [`BLOCKS`].",
        "#[rustfmt::skip]",
        f"pub(super) static INDEX: [u16; {len(index)}] = [",
        *rows(index),
        "];",
        "",
        "/// The distinct blocks of 256 class bytes, one after the other.",
        f'pub(super) static BLOCKS: [u8; {len(blocks) * BLOCK}] = *include_bytes!("unicode_blocks.bin");',
        "",
        "/// First and last code point, and the class bits of all between, in ascending order.",
        "#[rustfmt::skip]",
        f"pub(super) static RANGES: [(u32, u32, u8); {len(ranges)}] = [",
        *[f"    ({first:#x}, {last:#x}, {bits})," for first, last, bits in ranges],
        "];",
    ]
    TARGET.write_text("\n".join(lines) + "\n")
    TARGET.with_name("unicode_blocks.bin").write_bytes(b"".join(blocks))
    print(f"{len(blocks)} blocks, {len(ranges)} ranges")


if __name__ == "__main__":
    main()
