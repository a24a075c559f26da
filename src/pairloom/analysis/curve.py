"""The training curve: how often each merge is done in a corpus, and how many tokens are left after it.

Merges are never undone, so every merge in a token's merge tree was done once for each occurrence of the token. So the
token counts of the whole vocabulary give the exact figures for all smaller ones. Cost: one pass over the merges.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pairloom.analysis.stats import CorpusStats
from pairloom.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """times: int64 [m], how often each merge is done. n_tokens: int64 [m + 1], the tokens after 0, 1, ..., m merges."""

    times: npt.NDArray[np.int64]
    n_tokens: npt.NDArray[np.int64]


def training_curve(tokenizer: Tokenizer, stats: CorpusStats) -> TrainingCurve:
    """Returns the curve of a corpus from its `stats` under this tokenizer.

    For the training corpus, `times` equal the counts by which training chose the merges, except in runs of equal
    symbols, where only half of the pairs are merged. Raises ValueError for a tokenizer whose merges are not in the
    order of learning: ranks instead of merges, whole pretokens looked up, several merges that make one token, or a
    merge before those of its parts.
    """
    model = tokenizer.model
    merges, counts = model.merges, stats.token_counts
    ranks = np.full(len(counts), -1, dtype=np.int64)
    ranks[merges[:, 2]] = np.arange(len(merges))
    if model.rule != "pairs" or model.ignore_merges:
        raise ValueError("the tokenizer does more than merge pairs, so its merges have no order")
    if np.any(ranks[merges[:, 2]] != np.arange(len(merges))) or np.any(ranks[list(model.special_tokens.values())] >= 0):
        raise ValueError("a token is made by several merges, or is also a special token")
    if np.any(ranks[merges[:, :2]] >= np.arange(len(merges))[:, None]):
        raise ValueError("a merge comes before the merges that make its parts")
    left_over, times = counts.tolist(), [0] * len(merges)
    for rank, (left, right, merged_id) in reversed(list(enumerate(merges.tolist()))):
        times[rank] = left_over[merged_id]
        left_over[left] += times[rank]
        left_over[right] += times[rank]
    done = np.array(times, dtype=np.int64)
    return TrainingCurve(done, stats.n_tokens + np.append(np.cumsum(done[::-1])[::-1], 0))
