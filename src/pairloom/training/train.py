"""Trains a `Model` on texts, files or counts, with the options of a `TrainingConfig`.

With a checkpoint, complete counts are stored, and the same call resumes from them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom._internal.arguments import LONGEST_PATH, check_max_memory, check_paths, check_texts, resolve_threads
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.warnings import warn
from pairloom.corpus import Corpus, fingerprint
from pairloom.corpus.text_batches import is_arrow
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.errors import CheckpointError, CountsError
from pairloom.model import LARGEST_ID, Model
from pairloom.patterns import pattern_name, pattern_text
from pairloom.training import first_seen
from pairloom.training.checkpoint import counts_kept_in
from pairloom.training.config import BYTE_ORDERS, N_BYTES, TrainingConfig
from pairloom.training.trace import N_TRACED, Trace, check_trace, steps_of

PathLike = str | os.PathLike[str]

_MAX_UINT16_IDS = 1 << 16


def train_on_texts(corpus: Any, vocab_size: int, config: TrainingConfig, *, trace: Trace | None, **run: Any) -> Model:
    """Trains on a str (one document), an iterable of str (each one a document), or a `Corpus`.

    run: options that do not change the result: threads, progress, max_memory.
    """
    config.n_merges(vocab_size)
    check_trace(trace)
    corpus = checked_texts(corpus)
    if config.tie_break == first_seen.FIRST_SEEN:
        return _train_first_seen(corpus, vocab_size, config, {**run, "trace": trace})
    return train_model(prune(_counted(corpus, config, run), config)[0], vocab_size, config, trace=trace, **run)


def train_on_files(
    paths: PathLike | Iterable[PathLike],
    vocab_size: int,
    config: TrainingConfig,
    *,
    checkpoint: PathLike | None = None,
    trace: Trace | None = None,
    **run: Any,
) -> Model:
    """Trains on files; each file is a document unless corpus_specials="split" cuts it."""
    config.n_merges(vocab_size)
    files = check_paths(paths)
    if config.tie_break == first_seen.FIRST_SEEN:
        first_seen.check_run({**run, "checkpoint": checkpoint})
    if checkpoint is None:
        corpus = Corpus(files, input_errors=config.input_errors)
        return train_on_texts(corpus, vocab_size, config, trace=trace, **run)
    identity = fingerprint.of_files(files)

    def count() -> PretokenCounts:
        counts = _counted(Corpus(files, input_errors=config.input_errors), config, run)
        if identity != fingerprint.of_files(files):
            raise CheckpointError(
                "a file changed while it was counted; train again, and do not change the corpus meanwhile"
            )
        return counts

    with counts_kept_in(checkpoint, config, identity, count) as counts:
        check_counts(counts, config)
        return train_model(prune(counts, config)[0], vocab_size, config, trace=trace, **run)


def _counted(corpus: Any, config: TrainingConfig, run: dict[str, Any]) -> PretokenCounts:
    cut: Any = {name: getattr(config, name) for name in ("pattern", "special_tokens", "corpus_specials")}
    return PretokenCounts.from_texts(corpus, **cut, **run)


def check_reading(corpus: Any, fields: dict[str, Any]) -> None:
    """Raises ValueError if `fields` contradict a Corpus about how it is read."""
    if isinstance(corpus, Corpus) and fields.get("input_errors", corpus.input_errors) != corpus.input_errors:
        raise ValueError("input_errors belongs to the Corpus; pass it there")


def checked_texts(corpus: Any) -> Any:
    """Returns the texts of a caller's corpus argument; a `Corpus` is returned unchanged.

    A str is one text. Warns if it, or the first text of a list, names a file. Raises TypeError for a path, or if it is
    not texts.
    """
    if isinstance(corpus, os.PathLike):
        raise TypeError("corpus is a path; pass pairloom.Corpus(path) to read the file")
    if isinstance(corpus, PretokenCounts):
        raise TypeError("corpus is PretokenCounts, not texts; Tokenizer.train_from_counts trains on counts")
    if isinstance(corpus, str):
        _warn_of_a_file_named(corpus)
        return [corpus]
    if not isinstance(corpus, Corpus):
        check_texts("corpus", corpus, is_column=is_arrow(corpus))
    if isinstance(corpus, (list, tuple)) and corpus and isinstance(corpus[0], str):
        # The trainers of tokenizers take a list of files.
        _warn_of_a_file_named(corpus[0])
    return corpus


def _warn_of_a_file_named(text: str) -> None:
    if len(text) > LONGEST_PATH or "\n" in text:
        return
    try:
        is_file = Path(text).is_file()
    except (OSError, ValueError):
        # Name too long, no permission, NUL or lone surrogates: not the path of a readable file.
        return
    if is_file:
        warn(
            f"training on the text {text!r} itself, though a file of that name exists; use pairloom.Corpus(path) to "
            "train on the file"
        )


def prune(counts: PretokenCounts, config: TrainingConfig) -> tuple[PretokenCounts, TrainingConfig]:
    """Drops pretokens rarer than `config.min_count`; returns (counts, config with the min_count that now applies).

    That min_count is larger than the config's if the counts were pruned more strictly before.
    """
    least = max(config.min_count, counts.metadata.min_count)
    if least > counts.metadata.min_count:
        counts = counts.pruned(least)
    return counts, replace(config, min_count=least)


def train_model(
    counts: PretokenCounts,
    vocab_size: int,
    config: TrainingConfig,
    *,
    threads: int = 0,
    progress: Progress = None,
    max_memory: int | None = None,
    trace: Trace | None = None,
) -> Model:
    """Learns merges from `counts` and assigns ids as `config` says; warns if the size differs from vocab_size."""
    first_seen.check_rule(config)
    check_trace(trace)
    n_merges = config.n_merges(vocab_size)
    n_most = LARGEST_ID + 1 - N_BYTES - len(config.special_tokens)
    with reporter(progress) as report:
        pairs, shortage, traced, times = _core.train(
            counts.columns,
            {
                **rules(config, min(n_merges, n_most), max_memory, resolve_threads(threads)),
                "n_traced": 0 if trace is None else N_TRACED,
            },
            report,
        )
    if trace is not None:
        for step in steps_of(pairs, traced, times):
            trace(step)
    return finished(pairs, shortage, counts.n_bytes, vocab_size, config)


def _train_first_seen(
    documents: Iterable[str], vocab_size: int, config: TrainingConfig, run: Mapping[str, Any]
) -> Model:
    """Trains with tie_break="first_seen"."""
    first_seen.check_run(run)
    n_most = LARGEST_ID + 1 - N_BYTES - len(config.special_tokens)
    counts = first_seen.ordered_counts(documents, config)
    n_merges = min(config.n_merges(vocab_size), n_most)
    pairs, shortage = first_seen.learn(counts, n_merges, config, run.get("progress"))
    return finished(pairs, shortage, len(counts), vocab_size, config)


def finished(
    pairs: npt.NDArray[np.uint32],
    shortage: tuple[bool, bool] | None,
    n_bytes: int,
    vocab_size: int,
    config: TrainingConfig,
) -> Model:
    """Returns the Model of the learned merges; warns if its size differs from vocab_size."""
    n_merges = config.n_merges(vocab_size)
    if len(pairs) < n_merges:
        actual = vocab_size - n_merges + len(pairs)
        reason = shortage_text(n_bytes, config, shortage)
        warn(f"the vocabulary has {actual} tokens instead of the requested {vocab_size}: {reason}")
    n_vocab = N_BYTES + len(config.special_tokens) + len(pairs)
    if vocab_size <= _MAX_UINT16_IDS < n_vocab:
        warn(
            f"the tokenizer has {n_vocab} ids, because vocab_size={vocab_size} does not count special tokens; they do "
            "not fit uint16, so arrays and shards of ids use uint32, twice as large; "
            f"vocab_size={_MAX_UINT16_IDS - len(config.special_tokens)} fits uint16"
        )
    model = lay_out(pairs, config)
    if "<|endoftext|>" not in config.special_tokens and b"endoftext" in model.columns.token_bytes:
        warn(
            "a token contains 'endoftext': the corpus seems to mark ends of documents with <|endoftext|>, which was "
            "learned as text because it is no special token; pass special_tokens=['<|endoftext|>']"
        )
    return model


def rules(config: TrainingConfig, n_merges: int, max_memory: int | None = None, threads: int = 1) -> _core.Rules:
    """Returns the core's options for learning merges as the config says."""
    return {
        "n_merges": n_merges,
        "tie_break": config.tie_break,
        "byte_order": BYTE_ORDERS[config.byte_order],
        "min_frequency": config.min_frequency,
        "max_token_bytes": config.max_token_bytes,
        "max_memory": check_max_memory(max_memory),
        "threads": threads,
    }


def shortage_text(n_bytes: int, config: TrainingConfig, shortage: tuple[bool, bool] | None) -> str:
    """Returns a message that says why fewer merges were learned than requested, and the remedy."""
    if shortage is None:
        return f"the largest id is {LARGEST_ID}"
    if not n_bytes:
        return "there is no text to learn from"
    has_rare, has_long = shortage
    reasons = []
    if has_rare:
        reasons.append(f"none of the remaining pairs occurs min_frequency={config.min_frequency} times")
    if has_long:
        reasons.append(f"all remaining pairs make tokens longer than max_token_bytes={config.max_token_bytes}")
    kept = f" that min_count={config.min_count} keeps" if config.min_count > 1 else ""
    every = f"every pretoken of the corpus{kept} is already one token, so no pairs remain; train on more text"
    return " and ".join(reasons) or every


def check_counts(counts: PretokenCounts, config: TrainingConfig) -> None:
    """Raises CountsError unless `counts` have the pattern, Unicode version and special tokens of `config`."""
    metadata = counts.metadata
    if metadata.pattern != pattern_text(config.pattern):
        made, asked = (pattern_name(each) or each for each in (metadata.pattern, pattern_text(config.pattern)))
        raise CountsError(
            f"the counts were made with pattern {made!r}, not {asked!r}; count again with the "
            "second, or train with the first"
        )
    if metadata.unicode_version != _core.UNICODE_VERSION:
        raise CountsError(
            f"the counts were made with Unicode {metadata.unicode_version}, not {_core.UNICODE_VERSION}; count again"
        )
    if metadata.min_count > 1:
        warn(
            f"pretokens that occur fewer than {metadata.min_count} times were dropped from the counts, so the merges "
            "can differ from those of the whole corpus"
        )
    wanted = set(config.special_tokens) if config.corpus_specials == "split" else set()
    split = set(metadata.special_tokens) if metadata.corpus_specials == "split" else set()
    if wanted != split:
        raise CountsError(
            f"the counts were split on special tokens {sorted(split)}, but the configuration splits on "
            f"{sorted(wanted)}; train or count again with the same special_tokens and corpus_specials"
        )


def lay_out(pairs: npt.ArrayLike, config: TrainingConfig) -> Model:
    """Assigns an id to every byte, merge and special token.

    pairs: symbols [m, 2], where 0..255 are byte values and 256 + r is the result of merge r; () for no merges.
    """
    pairs = np.asarray(pairs, dtype=np.uint32).reshape(-1, 2)
    specials = config.special_tokens
    first_byte = len(specials) if config.special_ids == "first" else 0
    first_merge = first_byte + N_BYTES + (len(specials) if config.special_ids == "after_bytes" else 0)
    first_special = {"first": 0, "after_bytes": N_BYTES, "last": first_merge + len(pairs)}[config.special_ids]
    columns = _core.ModelColumns.from_pairs(
        pairs, byte_order=BYTE_ORDERS[config.byte_order], first_byte=first_byte, first_merge=first_merge
    )
    return Model(
        columns,
        ignore_merges=False,
        special_tokens={token: first_special + index for index, token in enumerate(specials)},
        pattern=pattern_text(config.pattern),
        decode_errors=config.decode_errors,
        training=config.record(),
    )
