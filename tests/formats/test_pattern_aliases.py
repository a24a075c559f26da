"""Patterns as published: saving keeps their spelling, and they split like their own library."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pairloom import formats, pretokenize
from pairloom.formats import huggingface, tiktoken
from pairloom.formats.shared.tiktoken_pattern import named_of
from pairloom.model import Model
from pairloom.patterns import SPELLINGS
from tests.formats.models import trained

TEXT = "1234567  \n\n x  \ny'll I'LL\t\t\r\n  \r\n\n 12 naïve  "


def model(pattern: Any) -> Model:
    return trained([(97, 98)], pattern=pattern, decode_errors="replace")


@pytest.mark.parametrize("pattern", [r"\S+|\s+", *chain(*SPELLINGS.values())])
def test_a_pattern_survives_bridges_and_files_and_splits_alike(pattern: Any, tmp_path: Path) -> None:
    named = model(pattern)
    formats.save(named, tmp_path / "native", format="pairloom")
    assert formats.load(tmp_path / "native") == named
    if isinstance(pattern, str):
        bridged = tiktoken.from_tiktoken(tiktoken.to_tiktoken(named))
        assert bridged == named.replaced(pattern=named_of(pattern))
    theirs = huggingface.to_huggingface(named)
    # In that dialect `{1,3}+` repeats a group, which is spelt differently here.
    if "}+" not in pattern:
        assert huggingface.from_huggingface(theirs) == named
    pieces = [TEXT[start:end].encode() for _, (start, end) in theirs.pre_tokenizer.pre_tokenize_str(TEXT)]
    assert pretokenize(TEXT, pattern) == pretokenize(TEXT, huggingface.from_huggingface(theirs).pattern) == pieces
