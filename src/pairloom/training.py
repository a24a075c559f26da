"""Training: a corpus -> counts -> merges -> a Model, under one configuration.

Enters: texts, files or counts, and a `TrainingConfig`. Leaves: a `Model`. With a checkpoint, counts and merges are
kept as they come, and the same call goes on from them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from pairloom import _core
from pairloom.arguments import check_max_memory, check_paths, check_texts, resolve_threads
from pairloom.checkpoint import Checkpoint
from pairloom.config import GPT2_BYTE_ORDER, N_BYTES, TrainingConfig
from pairloom.counts import PretokenCounts
from pairloom.errors import CountsError
from pairloom.model import Model
from pairloom.notice import warn
from pairloom.patterns import pattern_text
from pairloom.progress import Progress, reporter

__all__ = ["check_counts", "lay_out", "train_bpe", "train_model", "train_on_files", "train_on_texts"]

PathLike = str | os.PathLike[str]

# Texts from this length on are not looked for as a path.
_LONGEST_PATH = 4096


class Run(TypedDict, total=False):
    """How training runs, which changes nothing of the result."""

    threads: int
    progress: Progress
    max_memory: int | None
    checkpoint: PathLike | None


def train_on_texts(corpus: str | Iterable[str], vocab_size: int, config: TrainingConfig, **run: Unpack[Run]) -> Model:
    """Trains on a str (one document) or an iterable of str (each a document)."""
    config.n_merges(vocab_size)
    if isinstance(corpus, str):
        _warn_of_a_file_named(corpus)
        corpus = [corpus]
    if isinstance(corpus, os.PathLike):
        raise TypeError("corpus is a path; use Tokenizer.train_files to train on the file")
    check_texts("corpus", corpus)
    return _train(partial(PretokenCounts.from_texts, corpus), {"corpus": "texts"}, vocab_size, config, **run)


def train_on_files(
    paths: PathLike | Iterable[PathLike], vocab_size: int, config: TrainingConfig, **run: Unpack[Run]
) -> Model:
    """Trains on files, each a document unless corpus_specials="split" cuts it."""
    config.n_merges(vocab_size)
    files = check_paths(paths)
    count = partial(PretokenCounts.from_files, files, input_errors=config.input_errors)
    return _train(count, {"files": files}, vocab_size, config, **run)


def _warn_of_a_file_named(text: str) -> None:
    """Warns where the text to train on is the path of a file; any text may be asked about."""
    if len(text) >= _LONGEST_PATH or "\n" in text:
        return
    try:
        is_file = Path(text).is_file()
    except (OSError, ValueError):
        # Too long for a name, not to be looked at, NUL or lone surrogates: a text, whatever it looks like.
        return
    if is_file:
        warn(
            f"training on the text {text!r} itself, though a file of that name exists; "
            "use Tokenizer.train_files to train on the file"
        )


def _train(
    count: Callable[..., PretokenCounts],
    corpus: dict[str, Any],
    vocab_size: int,
    config: TrainingConfig,
    *,
    threads: int = 0,
    progress: Progress = None,
    max_memory: int | None = None,
    checkpoint: PathLike | None = None,
) -> Model:
    """Trains on what `count` counts; `corpus` says in a checkpoint what that was."""
    kept = _checkpoint(checkpoint, config, corpus)
    counts = kept.counts() if kept else None
    if counts is None:
        counts = count(
            pattern=config.pattern,
            special_tokens=config.special_tokens,
            corpus_specials=config.corpus_specials,
            threads=threads,
            progress=progress,
            max_memory=max_memory,
        )
        if kept:
            kept.keep_counts(counts)
    return train_model(counts, vocab_size, config, threads=threads, progress=progress, max_memory=max_memory, kept=kept)


def train_model(
    counts: PretokenCounts,
    vocab_size: int,
    config: TrainingConfig,
    *,
    threads: int = 0,
    progress: Progress = None,
    max_memory: int | None = None,
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
            max_memory=check_max_memory(max_memory),
            already=kept.merges()[:n_merges] if kept else None,
            on_merges=kept.append_merges if kept else None,
        )
    return lay_out(pairs.tolist(), config)


def _checkpoint(
    path: str | os.PathLike[str] | None, config: TrainingConfig, corpus: dict[str, Any]
) -> Checkpoint | None:
    """The checkpoint at `path` for this configuration and corpus; vocab_size may differ, since merges are nested."""
    if path is None:
        return None
    return Checkpoint(path, {**dataclasses.asdict(config), **corpus, "unicode_version": _core.UNICODE_VERSION})


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
