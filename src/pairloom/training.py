"""Training: counts -> merges -> a model, under one configuration.

Enters: pretoken counts and a `TrainingConfig`. Leaves: a `Model`. Everything that changes which merges are learned
or which id a token gets is a field of the configuration; three profiles fill it, each after one published
convention.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from pairloom import _core
from pairloom.arguments import check_choice, check_int, check_special_tokens, resolve_threads
from pairloom.checkpoint import Checkpoint
from pairloom.counts import PretokenCounts
from pairloom.errors import CountsError
from pairloom.model import DecodeErrors, Model, Pattern
from pairloom.patterns import pattern_text
from pairloom.progress import Progress, reporter

__all__ = [
    "PROFILES",
    "TrainingConfig",
    "check_counts",
    "checkpoint_of",
    "counted",
    "lay_out",
    "train_bpe",
    "train_model",
]

SpecialIds = Literal["last", "after_bytes", "first"]
ByteOrder = Literal["value", "gpt2"]
CorpusSpecials = Literal["text", "split"]
TieBreak = Literal["ids_least", "bytes_greatest"]
InputErrors = Literal["strict", "replace"]

N_BYTES = 256

# The GPT-2 byte alphabet gives printable bytes the first ids, then all the others.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
GPT2_BYTE_ORDER = (*_PRINTABLE, *(b for b in range(N_BYTES) if b not in _PRINTABLE))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """All that decides which merges are learned and which id each token gets; the defaults are profile "bpetite".

    pattern: a named pattern, a regex, or a tuple of them, each splitting what the one before left.
    special_tokens: literals that get an id each and take no part in merges.
    special_ids: "last" puts them after the last merge, "after_bytes" between bytes and merges, "first" before all.
    byte_order: the order of the 256 byte tokens, by "value" or as in the "gpt2" byte alphabet.
    specials_counted: whether vocab_size counts the special tokens.
    corpus_specials: special literals in the corpus are "text", or "split" it into documents and are removed.
    tie_break: of equally frequent pairs, "ids_least" takes the least (id, id), "bytes_greatest" the greatest
    (left bytes, right bytes).
    decode_errors, input_errors: what malformed bytes give on decoding, and in the corpus.
    min_frequency: pairs rarer than this are not merged. max_token_bytes: no longer token is made.
    """

    pattern: Pattern = "gpt2"
    special_tokens: tuple[str, ...] = ("<|endoftext|>",)
    special_ids: SpecialIds = "last"
    byte_order: ByteOrder = "value"
    specials_counted: bool = False
    corpus_specials: CorpusSpecials = "text"
    tie_break: TieBreak = "ids_least"
    decode_errors: DecodeErrors = "strict"
    input_errors: InputErrors = "strict"
    min_frequency: int = 1
    max_token_bytes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "special_tokens", check_special_tokens(self.special_tokens))
        if not isinstance(self.pattern, str):
            object.__setattr__(self, "pattern", tuple(self.pattern))
        check_choice("special_ids", self.special_ids, get_args(SpecialIds))
        check_choice("byte_order", self.byte_order, get_args(ByteOrder))
        check_choice("corpus_specials", self.corpus_specials, get_args(CorpusSpecials))
        check_choice("tie_break", self.tie_break, get_args(TieBreak))
        check_choice("decode_errors", self.decode_errors, get_args(DecodeErrors))
        check_choice("input_errors", self.input_errors, get_args(InputErrors))
        if not isinstance(self.specials_counted, bool):
            raise TypeError(f"specials_counted must be a bool, not {type(self.specials_counted).__name__}")
        check_int("min_frequency", self.min_frequency, least=1)
        if self.max_token_bytes is not None:
            check_int("max_token_bytes", self.max_token_bytes, least=1)

    @classmethod
    def from_profile(cls, profile: str = "bpetite", **fields: Any) -> TrainingConfig:
        """The named profile with some fields replaced; a ValueError lists the profiles, a TypeError the fields."""
        if not isinstance(profile, str):
            raise TypeError(f"profile must be a str, not {type(profile).__name__}")
        if profile not in PROFILES:
            raise ValueError(f"unknown profile {profile!r}; choose one of {', '.join(PROFILES)}")
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(fields) - known):
            raise TypeError(f"unknown training option {unknown[0]!r}; the options are {', '.join(sorted(known))}")
        return dataclasses.replace(PROFILES[profile], **fields)

    @property
    def base_vocab_size(self) -> int:
        """The least vocab_size: the 256 bytes, and the special tokens where they are counted."""
        return N_BYTES + (len(self.special_tokens) if self.specials_counted else 0)

    def n_merges(self, vocab_size: int) -> int:
        """How many merges a vocabulary of `vocab_size` asks for; ValueError when it is below the base."""
        check_int("vocab_size", vocab_size)
        if vocab_size < self.base_vocab_size:
            specials = f" and {len(self.special_tokens)} special tokens" if self.specials_counted else ""
            raise ValueError(
                f"vocab_size is {vocab_size}, but the 256 bytes{specials} already need {self.base_vocab_size}; "
                f"pass vocab_size >= {self.base_vocab_size}"
            )
        return vocab_size - self.base_vocab_size


PROFILES: dict[str, TrainingConfig] = {
    "bpetite": TrainingConfig(),
    "cs336": TrainingConfig(
        special_tokens=(),
        special_ids="after_bytes",
        specials_counted=True,
        corpus_specials="split",
        tie_break="bytes_greatest",
        decode_errors="replace",
    ),
    "huggingface": TrainingConfig(
        special_tokens=(),
        special_ids="first",
        byte_order="gpt2",
        specials_counted=True,
        decode_errors="replace",
    ),
}


def train_model(
    counts: PretokenCounts,
    vocab_size: int,
    config: TrainingConfig,
    *,
    threads: int = 0,
    progress: Progress = None,
    kept: Checkpoint | None = None,
) -> Model:
    """Learns merges from `counts` and lays out ids as `config` says; with a checkpoint, goes on from its merges."""
    n_merges = config.n_merges(vocab_size)
    byte_order = GPT2_BYTE_ORDER if config.byte_order == "gpt2" else tuple(range(N_BYTES))
    with reporter(progress) as report:
        pairs = _core.learn(
            counts.columns,
            n_merges=n_merges,
            tie_break=config.tie_break,
            byte_order=bytes(byte_order),
            min_frequency=config.min_frequency,
            max_token_bytes=config.max_token_bytes,
            threads=resolve_threads(threads),
            report=report,
            already=kept.merges()[:n_merges] if kept else None,
            on_merges=kept.append_merges if kept else None,
        )
    return lay_out(pairs.tolist(), config)


def checkpoint_of(
    path: str | os.PathLike[str] | None, config: TrainingConfig, corpus: dict[str, Any]
) -> Checkpoint | None:
    """The checkpoint at `path` for this configuration and corpus; vocab_size may differ, since merges are nested."""
    if path is None:
        return None
    return Checkpoint(path, {**dataclasses.asdict(config), **corpus, "unicode_version": _core.UNICODE_VERSION})


def counted(kept: Checkpoint | None, count: Callable[[], PretokenCounts]) -> PretokenCounts:
    """The checkpoint's counts, else what `count` gives, kept there."""
    counts = kept.counts() if kept else None
    if counts is None:
        counts = count()
        if kept:
            kept.keep_counts(counts)
    return counts


def check_counts(counts: PretokenCounts, config: TrainingConfig) -> None:
    """Raises CountsError unless `counts` were cut as `config` says."""
    made = counts.metadata
    if made.pattern != pattern_text(config.pattern):
        raise CountsError(
            f"the counts were made with pattern {made.pattern!r}, not {config.pattern!r}; count again or drop pattern="
        )
    if made.unicode_version != _core.UNICODE_VERSION:
        raise CountsError(
            f"the counts were made with Unicode {made.unicode_version}, this is {_core.UNICODE_VERSION}; count again"
        )
    wanted = set(config.special_tokens) if config.corpus_specials == "split" else set()
    split = set(made.special_tokens) if made.corpus_specials == "split" else set()
    if wanted != split:
        raise CountsError(
            f"the counts were split on special tokens {sorted(split)}, but the configuration asks for "
            f"{sorted(wanted)}; "
            "count again with the same special_tokens and corpus_specials"
        )


def lay_out(pairs: Sequence[tuple[int, int]], config: TrainingConfig) -> Model:
    """Gives every byte, merge and special token its id.

    `pairs` speaks symbols: 0..255 are byte values, 256 + r is what merge r made.
    """
    specials = config.special_tokens
    first_byte = len(specials) if config.special_ids == "first" else 0
    first_merge = first_byte + N_BYTES + (len(specials) if config.special_ids == "after_bytes" else 0)
    first_special = {"first": 0, "after_bytes": N_BYTES, "last": first_merge + len(pairs)}[config.special_ids]
    order = GPT2_BYTE_ORDER if config.byte_order == "gpt2" else range(N_BYTES)

    joined = [bytes([value]) for value in range(N_BYTES)]
    id_of = [0] * N_BYTES
    for place, value in enumerate(order):
        id_of[value] = first_byte + place
    merges = np.empty((len(pairs), 3), dtype=np.uint32)
    for rank, (left, right) in enumerate(pairs):
        joined.append(joined[left] + joined[right])
        id_of.append(first_merge + rank)
        merges[rank] = id_of[left], id_of[right], id_of[-1]
    return Model.from_tokens(
        dict(zip(id_of, joined, strict=True)),
        merges,
        special_tokens={token: first_special + place for place, token in enumerate(specials)},
        pattern=pattern_text(config.pattern),
        decode_errors=config.decode_errors,
    )


def train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: Sequence[str],
    *,
    threads: int = 0,
    progress: Progress = None,
    **fields: Any,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Trains on one file under profile "cs336": the vocabulary (id -> bytes) and the merges (byte pairs) in order.

    The text is split on the special tokens, vocab_size counts them, and ties go to the greatest byte pair.
    Raises what `Tokenizer.train_files` raises. Source: Stanford CS336, assignment 1, `train_bpe`.
    """
    from pairloom.tokenizer import Tokenizer

    tokenizer = Tokenizer.train_files(
        input_path, vocab_size, "cs336", special_tokens=special_tokens, threads=threads, progress=progress, **fields
    )
    return tokenizer.vocab, tokenizer.merges
