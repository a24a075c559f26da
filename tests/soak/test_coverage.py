"""The harness of public calls names every public call."""

from __future__ import annotations

import warnings
from pathlib import Path

import pairloom
from pairloom import Corpus, PretokenCounts, Tokenizer
from tests.soak import misuse

# Without arguments, or of other modules that are tested through these.
_NO_ARGUMENTS = {
    *("Tokenizer.to_huggingface", "Tokenizer.without_post_processor", "Tokenizer.decode_stream"),
    *("Tokenizer.get_vocab", "Tokenizer.as_huggingface", "Tokenizer.native_file"),
    *("PretokenCounts.items", "PretokenCounts.to_arrow", "Corpus.read", "Corpus.of_stream", "Corpus.is_one_document"),
    "Corpus.check_id_field",
    "cpu_tier",
    "Tokenizer.from_pretrained",  # asks the network
}


def _public_calls() -> set[str]:
    names = {
        name
        for name in pairloom.__all__
        if callable(getattr(pairloom, name)) and not name.endswith("Error") and name != "ProgressEvent"
    }
    names -= {"Tokenizer", "PretokenCounts", "Corpus"}
    for cls in (Tokenizer, PretokenCounts, Corpus):
        names |= {f"{cls.__name__}.{name}" for name in dir(cls) if name[0] != "_" and callable(getattr(cls, name))}
    return names


def test_misuse_names_every_public_call_with_arguments(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = misuse.calls(tmp_path)
    assert not _public_calls() - calls.keys() - _NO_ARGUMENTS
    assert sum(len(call.arguments) for call in calls.values()) * len(misuse.VALUES) <= misuse.FULL


def test_misuse_finds_an_error_that_is_not_documented() -> None:
    def broken(number: int) -> None:
        raise IndexError(number)

    call = misuse.Call(broken, {"number": lambda: 1})
    outcome, detail = misuse.outcome_of(call, "number", lambda: 2)
    assert outcome == "failed"
    assert detail.startswith("IndexError")
