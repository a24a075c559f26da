"""Parity-aware training: several corpora (of different languages, for example) share the merges.

`pairloom.reference.parity` defines it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pairloom import _core
from pairloom._internal.progress import Progress, reporter
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.model import LARGEST_ID, Model
from pairloom.training.config import N_BYTES, TrainingConfig
from pairloom.training.first_seen import check_rule
from pairloom.training.prune import counts_of
from pairloom.training.train import check_counts, finished, prune, rules


def check_names(parity: Any, reference: Any) -> None:
    """Raises TypeError or ValueError unless both are dicts with the same names; `reference` can be None."""
    for what, given in (("parity", parity), ("parity_reference", {} if reference is None else reference)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{what} must be a dict from a name to a corpus, not {type(given).__name__}")
    if not parity:
        raise ValueError("parity is empty; pass at least one corpus")
    if reference is not None and (differing := sorted(parity.keys() ^ reference.keys())):
        raise ValueError(f"parity and parity_reference must have the same names; only one has {differing[0]!r}")


def train_parity(
    parity: Mapping[str, Any],
    reference: Mapping[str, Any] | None,
    vocab_size: int,
    config: TrainingConfig,
    *,
    threads: int = 0,
    progress: Progress = None,
    max_memory: int | None = None,
) -> Model:
    """Trains on named corpora or counts; each step merges for the one that costs most."""
    check_names(parity, reference)
    check_rule(config)
    n_merges = config.n_merges(vocab_size)
    cut: dict[str, Any] = {name: getattr(config, name) for name in ("special_tokens", "corpus_specials")}
    run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory}

    def counted(corpus: Any) -> PretokenCounts:
        counts = counts_of(corpus, config.pattern, **cut, **run)
        check_counts(counts, config)
        return counts

    pruned = [prune(counted(corpus), config) for corpus in parity.values()]
    groups = [counts for counts, _ in pruned]
    config = replace(config, min_count=max(each.min_count for _, each in pruned))
    references = [] if reference is None else [counted(reference[name]) for name in parity]
    with reporter(progress) as report:
        pairs, shortage = _core.train_parity(
            [counts.columns for counts in groups],
            [counts.columns for counts in references],
            rules(config, min(n_merges, LARGEST_ID + 1 - N_BYTES - len(config.special_tokens)), max_memory),
            report,
        )
    return finished(pairs, shortage, sum(counts.n_bytes for counts in groups), vocab_size, config)
