"""Removes the tokens that a corpus uses least; `pairloom.reference.prune` defines it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pairloom import _core
from pairloom._internal.arguments import check_bool, check_int, check_max_memory, resolve_threads
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.warnings import warn
from pairloom.corpus.text_batches import batches_of
from pairloom.counts.metadata import checked_metadata
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.model import DROP_STEP, Model, Pattern
from pairloom.training.config import TrainingConfig
from pairloom.training.extend import n_counted
from pairloom.training.train import check_counts, checked_texts
from pairloom.vocabulary import as_pairs, compacted, warn_of_moved, without_tokens

if TYPE_CHECKING:
    from pairloom.tokenizer.base import TokenizerBase


def counts_of_tokenizer(corpus: Any, tokenizer: TokenizerBase, corpus_specials: str, **run: Any) -> PretokenCounts:
    """Counts a corpus as the tokenizer splits it; CountsError for given counts that were split in another way."""
    model = tokenizer._model
    cut: dict[str, Any] = {"special_tokens": list(model.special_tokens), "corpus_specials": corpus_specials}
    counts = counts_of(corpus, model.pattern, tokenizer=tokenizer, **cut, **run)
    cut = {name: getattr(counts.metadata, name) for name in ("special_tokens", "corpus_specials")}
    check_counts(counts, TrainingConfig(pattern=model.pattern, **cut))
    return counts


def counts_of(
    corpus: Any,
    pattern: Pattern,
    *,
    special_tokens: Sequence[str],
    corpus_specials: str,
    tokenizer: TokenizerBase | None = None,
    **options: Any,
) -> PretokenCounts:
    """Counts a str, an iterable of str or a `Corpus`; returns PretokenCounts unchanged.

    tokenizer: if given, texts are normalised and cut at special tokens as this tokenizer does.
    options: other options of `PretokenCounts.from_texts`.
    """
    normalizer = [] if tokenizer is None else [step for step in tokenizer._model.normalizer if step != DROP_STEP]
    has_rules = tokenizer is not None and bool(tokenizer._model.special_rules) and corpus_specials == "split"
    if isinstance(corpus, PretokenCounts):
        if normalizer:
            warn(
                f"counts are of unchanged texts, but this tokenizer normalizes texts ({', '.join(normalizer)}); pass "
                "the texts, or counts of normalized texts"
            )
        elif has_rules:
            warn(
                "counts are split at every special token, but some of this tokenizer's have rules (special_rules); "
                "pass the texts"
            )
        return corpus
    corpus = checked_texts(corpus)
    if tokenizer is not None and (has_rules or (normalizer and corpus_specials == "split")):
        # Cut here, not in from_texts: rules exclude some literals, and normalised text can look like a special token.
        parts = _between_specials(corpus, tokenizer, resolve_threads(options.get("threads", 0)))
        counts = PretokenCounts.from_texts(parts, pattern, **options)
        return PretokenCounts(counts.columns, checked_metadata(pattern, special_tokens, corpus_specials))
    if normalizer:
        corpus = (_core.normalized(texts, normalizer) for texts in _lists_of_texts(corpus))
    cut: dict[str, Any] = {"special_tokens": special_tokens, "corpus_specials": corpus_specials}
    return PretokenCounts.from_texts(corpus, pattern, **cut, **options)


def _lists_of_texts(corpus: Any) -> Iterator[list[str]]:
    for batch in batches_of(corpus):
        yield batch if isinstance(batch, list) else batch.texts()


def _between_specials(corpus: Any, tokenizer: TokenizerBase, threads: int) -> Iterator[list[str]]:
    """Yields the normalised texts between special tokens."""
    core = tokenizer.from_model(tokenizer._model.without_merges())._core
    first_id = core.n_vocab - 256
    for texts in _lists_of_texts(corpus):
        ids, offsets = core.encode_batch_to_numpy(texts, threads, None)
        specials = np.flatnonzero(ids < first_id)
        data = (ids - first_id).astype(np.uint8).tobytes()
        bounds = np.unique(np.concatenate([offsets, specials, specials + 1])).tolist()
        places = set(specials.tolist())
        yield [data[start:end].decode() for start, end in pairwise(bounds) if start not in places]


def n_to_remove(model: Model, vocab_size: int | None, n_tokens: int | None) -> int:
    """Returns the number of tokens that `prune` removes; ValueError for invalid arguments."""
    model.check_merges_bytes("prune")
    if (vocab_size is None) == (n_tokens is None):
        raise ValueError("pass either vocab_size or n_tokens, the number of tokens to remove")
    if vocab_size is not None:
        n_old = n_counted(model, TrainingConfig.of_model(model), "remove")
        n_tokens = n_old - check_int("vocab_size", vocab_size)
        if n_tokens < 0:
            raise ValueError(f"vocab_size is {vocab_size}, but this tokenizer has {n_old}; extend makes it larger")
    return check_int("n_tokens", n_tokens, least=0)


def pruned(
    model: Model,
    core: _core.Encoder,
    counts: PretokenCounts,
    n_tokens: int,
    *,
    keep_ids: bool = True,
    threads: int = 0,
    progress: Progress = None,
    max_memory: int | None = None,
) -> Model:
    """Returns the model without the `n_tokens` tokens that are used least when `core` encodes the counts."""
    check_bool("keep_ids", keep_ids)
    with reporter(progress) as report:
        ids, ends, times = _core.encode_counts(
            counts.columns,
            core,
            threads=resolve_threads(threads),
            report=report,
            max_memory=check_max_memory(max_memory),
        )
    if n_tokens and not len(ids):
        raise ValueError(
            "the corpus contains no text, so it cannot tell which tokens are used least; pass a corpus with text"
        )
    uses = np.zeros(core.n_vocab, dtype=np.uint64)
    np.add.at(uses, ids, np.repeat(times, np.diff(ends, prepend=np.uint64(0)).astype(np.int64)))
    smaller = without_tokens(model, _least_used_ids(model, uses.tolist(), n_tokens))
    if not keep_ids:
        smaller = compacted(smaller)
        warn_of_moved(model, smaller)
    return smaller.canonical_form()


def _least_used_ids(model: Model, uses: list[int], n_tokens: int) -> set[int]:
    """Returns the ids of the tokens to remove. uses: the count of each id; a removed token's uses go to its parts."""
    pairs_of: dict[int, list[list[int]]] = {}
    n_needing = [0] * len(uses)
    for left, right, made in as_pairs(model).merges.tolist():
        pairs_of.setdefault(made, []).append([left, right])
        n_needing[left] += 1
        n_needing[right] += 1
    specials = set(model.special_tokens.values())
    removable = {i for i, token in model.tokens().items() if len(token) > 1 and i not in specials}
    leaves = [(uses[i], -i) for i in removable if not n_needing[i]]
    heapq.heapify(leaves)
    removed: set[int] = set()
    while len(removed) < n_tokens:
        if not leaves:
            raise ValueError(
                f"{n_tokens} tokens cannot be removed: apart from bytes and special tokens there are only "
                f"{len(removed)}"
            )
        count, negative = heapq.heappop(leaves)
        removed.add(-negative)
        pairs = pairs_of.get(-negative, [])
        for part in pairs[0] if pairs else ():
            uses[part] += count
        parts = [part for pair in pairs for part in pair]
        for part in parts:
            n_needing[part] -= 1
        for part in set(parts):
            if part in removable and not n_needing[part]:
                heapq.heappush(leaves, (uses[part], -part))
    return removed
