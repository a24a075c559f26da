"""GPT-2's pair of files."""

import json
import re
from pathlib import Path

import pytest

from pairloom import formats
from pairloom.errors import FormatError
from pairloom.formats import gpt2

from .models import ENDOFTEXT, trained


def pair(folder: Path, vocab: object, merges: str) -> tuple[Path, Path]:
    names = folder / "vocab.json", folder / "merges.txt"
    names[0].write_text(json.dumps(vocab))
    names[1].write_text(merges)
    return names


@pytest.mark.parametrize("specials", [{}, {ENDOFTEXT: 258}, {"<|a b|>": 300, "é｜": 258}])
def test_what_is_saved_comes_back(tmp_path: Path, specials: dict[str, int]) -> None:
    model = trained([(97, 98), (32, 256)], special_tokens=specials, decode_errors="replace")
    formats.save(model, tmp_path / "folder", format="gpt2")
    assert formats.load(tmp_path / "folder", special_tokens=list(specials)) == model
    if specials:
        with pytest.warns(UserWarning, match=f"folder: {len(specials)} of .* are never used.* special_tokens"):
            formats.load(tmp_path / "folder")
        # As in DialoGPT: the transformers class knows <|endoftext|>, but no file contains it.
        (tmp_path / "folder/tokenizer_config.json").write_text('{"model_max_length": 1024}')
        names = ", ".join(map(repr, sorted(specials, key=specials.__getitem__)))
        with pytest.warns(UserWarning, match=re.escape(f"({names})")):
            formats.load(tmp_path / "folder")
    assert (tmp_path / "folder/merges.txt").read_bytes() == "#version: 0.2\na b\nĠ ab\n".encode()


@pytest.mark.parametrize("first", ["", "#version: 0.2\n"])
def test_merges_of_hash_signs_and_windows_lines(tmp_path: Path, first: str) -> None:
    vocab = {"#": 0, "v": 1, "##": 2, "#v": 3, "##v": 4}
    model = gpt2.read_pair(*pair(tmp_path, vocab, first + "# #\r\n# v\r\n## v\r\n\r\n"))
    assert model.merges.tolist() == [[0, 0, 2], [0, 1, 3], [2, 1, 4]]


def test_a_space_inside_a_token_is_no_separator(tmp_path: Path) -> None:
    vocab = {"a": 0, " ": 1, " a": 2, "a a": 3}
    model = gpt2.read_pair(*pair(tmp_path, vocab, "  a\na  a\n"))
    assert model.merges.tolist() == [[1, 0, 2], [0, 2, 3]]


def test_damaged_text(tmp_path: Path) -> None:
    vocab, merges = pair(tmp_path, {"a": 0}, "")
    merges.write_bytes(b"\xffa")
    with pytest.raises(FormatError, match=r"merges\.txt: not UTF-8 at byte 0"):
        gpt2.read_pair(vocab, merges)
    vocab.write_text('{"a": 0, "a": 1}')
    with pytest.raises(FormatError, match="appears twice"):
        gpt2.read_pair(vocab, merges)
    vocab.write_text("{}")
    merges.unlink()
    with pytest.raises(FileNotFoundError, match=r"merges\.txt"):
        formats.load(tmp_path)
