"""Patterns as their owners publish them: what is loaded is saved as it was spelt, and splits as it does there."""

from pathlib import Path
from typing import Any

import pytest
import tokenizers

from pairloom import Tokenizer, formats, pretokenize
from pairloom.errors import FormatError
from pairloom.formats import huggingface, tiktoken
from pairloom.formats.shared.pattern_aliases import published_of
from pairloom.model import Model
from pairloom.patterns import GPT2, PATTERNS
from tests.formats.models import trained

CL100K = str(PATTERNS["cl100k"])
LLAMA3 = str(PATTERNS["llama3"])

R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K_PUBLISHED = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
RUSTBPE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
NANOCHAT_PUBLISHED = RUSTBPE.replace("{1,3}", "{1,2}")
GPT2_FIRST = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TEXT = "1234567  \n\n x  \ny'll I'LL\t\t\r\n  \r\n\n 12 naïve  "


def model(pattern: Any) -> Model:
    return trained([(97, 98)], pattern=pattern, decode_errors="replace")


def test_the_published_texts_are_those_of_the_library() -> None:
    openai_public = pytest.importorskip("tiktoken_ext.openai_public", reason="reads the patterns of tiktoken")
    assert published_of(GPT2) == openai_public.r50k_pat_str


@pytest.mark.parametrize("pattern", [RUSTBPE, GPT2_FIRST, LLAMA3, r"\S+|\s+", *(p for p in PATTERNS.values())])
def test_any_other_pattern_survives_bridges_and_files(pattern: Any, tmp_path: Path) -> None:
    named = model(pattern)
    formats.save(named, tmp_path / "native", format="pairloom")
    assert formats.load(tmp_path / "native") == named
    if isinstance(pattern, str):
        assert tiktoken.from_tiktoken(tiktoken.to_tiktoken(named)) == named
    theirs = huggingface.to_huggingface(named)
    assert huggingface.from_huggingface(theirs) == named
    assert huggingface.from_huggingface(theirs).pattern == pattern


@pytest.mark.parametrize("written", [R50K, CL100K_PUBLISHED, RUSTBPE, NANOCHAT_PUBLISHED, GPT2_FIRST, LLAMA3])
def test_a_pattern_of_a_tokenizer_json_splits_as_in_the_library(written: str, tmp_path: Path) -> None:
    theirs = huggingface.to_huggingface(model(r"\S+|\s+"))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(written), "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    loaded = huggingface.from_huggingface(theirs)
    expected = [TEXT[start:end].encode() for _, (start, end) in theirs.pre_tokenizer.pre_tokenize_str(TEXT)]
    assert pretokenize(TEXT, loaded.pattern) == expected
    # And the next tokenizer.json splits as this one does.
    again = huggingface.to_huggingface(loaded)
    assert again.pre_tokenizer.pre_tokenize_str(TEXT) == theirs.pre_tokenizer.pre_tokenize_str(TEXT)
    if written != CL100K_PUBLISHED:
        # There `{1,3}+` repeats a group, which has another spelling here.
        assert loaded.pattern == written
        assert huggingface.write(loaded).count(b'"Regex"') == 1
        assert again.to_str() == huggingface.to_huggingface(huggingface.from_huggingface(again)).to_str()


def test_a_special_token_that_merging_makes_stays_text(tmp_path: Path) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    tokenizer = Tokenizer(vocab, [(b"a", b"b"), (b"ab", b"c")], ["ab"])
    with pytest.warns(UserWarning, match=r"special_tokens=\{'ab': 256\}"):
        tokenizer.save(tmp_path / "model.tiktoken")
    again = Tokenizer.load(tmp_path / "model.tiktoken", pattern="gpt2", special_tokens={"ab": 256})
    assert again.encode_ordinary("ab abc") == tokenizer.encode_ordinary("ab abc") == [256, 32, 257]
    assert again == tokenizer


def test_tiktoken_files_without_special_tokens_name_the_option(tmp_path: Path) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"<|endoftext|>"}
    tokenizer = Tokenizer(vocab, [(b"a", b"b")])
    with pytest.raises(FormatError, match=r"'<\|endoftext\|>'.*pass special_tokens=\[.*endoftext.*\]"):
        tokenizer.save(tmp_path / "r50k.tiktoken")
    with pytest.warns(UserWarning, match=r"special_tokens=\{'<\|endoftext\|>': 257\}"):
        Tokenizer(vocab, [(b"a", b"b")], ["<|endoftext|>"]).save(tmp_path / "r50k.tiktoken")
