"""Training with tie_break="first_seen", minbpe's rule: among equally frequent pairs, the first one in the corpus.

This needs the order of the corpus, which counts do not keep. So documents are read and split in order, on one thread;
learning uses one thread too. Together that takes seven to eight times the processor time of the other rules.
`crates/core/src/train/first_seen.rs` explains the algorithm.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pairloom import _core
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.warnings import warn
from pairloom.patterns import pattern_text
from pairloom.training.config import TrainingConfig

FIRST_SEEN = "first_seen"


def check_run(run: Mapping[str, Any]) -> None:
    """Raises ValueError for options of a run that this rule does not support."""
    for name in ("checkpoint", "max_memory", "trace"):
        if run.get(name) is not None:
            raise ValueError(
                f'{name} cannot be combined with tie_break="first_seen", which needs the order of the corpus'
            )


def check_rule(config: TrainingConfig) -> None:
    """Raises ValueError if the rule is "first_seen"; for callers that have only counts."""
    if config.tie_break == FIRST_SEEN:
        raise ValueError(
            'tie_break="first_seen" needs the order of the corpus, which counts do not keep; train on texts or files'
            " with Tokenizer.train or train_files, or pass another tie_break"
        )


def ordered_counts(documents: Iterable[str], config: TrainingConfig) -> dict[bytes, int]:
    """Counts pretokens, and returns those that min_count keeps, in order of their first occurrence in the corpus."""
    pattern = pattern_text(config.pattern)
    counts: Counter[bytes] = Counter()
    specials = config.special_tokens if config.corpus_specials == "split" else ()
    # The longest special token first.
    cut = re.compile("|".join(map(re.escape, sorted(specials, key=len, reverse=True))))
    n_literals = 0
    for index, document in enumerate(documents):
        if not isinstance(document, str):
            raise TypeError(f"corpus[{index}] must be a str, not {type(document).__name__}")
        if not specials:
            n_literals += sum(map(document.count, config.special_tokens))
        for part in cut.split(document) if specials else [document]:
            counts.update(_core.pretokenize(part, pattern))
    if n_literals:
        warn(
            f"the corpus contains {n_literals} literals of special tokens, which are learned from as text;"
            ' corpus_specials="split" treats them as ends of documents'
        )
    return {pretoken: count for pretoken, count in counts.items() if count >= config.min_count}


def learn(
    counts: dict[bytes, int], n_merges: int, config: TrainingConfig, progress: Progress
) -> tuple[Any, tuple[bool, bool] | None]:
    """Returns the merges as symbols [m, 2], and the shortage, as `_core.train` does."""
    with reporter(progress) as report:
        return _core.train_first_seen(
            counts,
            {
                "n_merges": n_merges,
                "min_frequency": config.min_frequency,
                "max_token_bytes": config.max_token_bytes,
            },
            report,
        )
