"""The harnesses of public calls name every public call."""

from __future__ import annotations

import warnings
from pathlib import Path

import pairloom
from pairloom import Corpus, PretokenCounts, Tokenizer
from tests.soak import memory_limits, misuse

# Without arguments, or of other modules that are tested through these.
_NO_ARGUMENTS = {
    *("Tokenizer.to_huggingface", "Tokenizer.without_post_processor", "Tokenizer.decode_stream"),
    *("Tokenizer.get_vocab", "Tokenizer.as_huggingface", "Tokenizer.native_file"),
    *("PretokenCounts.items", "PretokenCounts.to_arrow", "Corpus.read", "Corpus.of_stream", "Corpus.is_one_document"),
    "cpu_tier",
}
# No work, or a moment's work on what is there already.
_NO_ALLOCATION = {
    *("Tokenizer.from_model", "Tokenizer.id_to_token", "Tokenizer.token_to_id", "Tokenizer.with_cache_bytes"),
    *("Tokenizer.without_post_processor", "Corpus.of_texts", "Corpus.of_stream", "Corpus.read"),
    *(
        "Tokenizer.with_normalizer",
        "Tokenizer.with_tokenizer_config",
        "Tokenizer.as_tiktoken",
        "Tokenizer.as_huggingface",
    ),
    *("Corpus.is_one_document", "ProgressEvent", "TrainingConfig", "cpu_tier"),
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
    assert sum(len(call.arguments) for call in calls.values()) * len(misuse.VALUES) == misuse.FULL


def test_memory_limits_name_every_public_call_that_allocates() -> None:
    named = " ".join(memory_limits.call_names())
    missing = {name for name in _public_calls() if name not in named}
    assert not missing - _NO_ALLOCATION
    assert len(memory_limits.LIMITS) * len(memory_limits.call_names()) == memory_limits.FULL


def test_misuse_finds_an_error_that_is_not_documented() -> None:
    def broken(number: int) -> None:
        raise IndexError(number)

    call = misuse.Call(broken, {"number": lambda: 1})
    outcome, detail = misuse.outcome_of(call, "number", lambda: 2)
    assert outcome == "failed"
    assert detail.startswith("IndexError")
