"""BPE training by its definition.

Count all adjacent pairs inside pretokens, each weighted by its pretoken's count; take the most frequent pair; replace
it everywhere; repeat. Cost: merges x distinct pretokens, because every merge recounts everything. The purpose is code
so simple that reading it is enough to check it.
Source: Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016).
"""

import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from pairloom._internal.arguments import check_special_tokens, check_texts
from pairloom.reference.documents import documents_of, read_documents
from pairloom.reference.encoder import decode as decode
from pairloom.reference.encoder import encode as encode
from pairloom.reference.pretokens import count_pretokens
from pairloom.reference.pretokens import pretokenize as pretokenize
from pairloom.reference.vocabulary import (
    ByteOrder,
    Merge,
    Model,
    SpecialIds,
    bytes_in_order,
    count_merges_wanted,
    number_ids,
)

Pair = tuple[int, int]
Word = tuple[list[int], int]
"""The ids of one distinct pretoken, and how often it occurs."""

N_TRACED = 5
"""The number of pairs that a trace records for each step."""

TieBreak = Literal["ids_least", "bytes_greatest", "first_seen"]


def count_pairs(words: Iterable[tuple[Sequence[int], int]]) -> Counter[Pair]:
    """Counts adjacent pairs, each as often as its word occurs.

    >>> count_pairs([([97, 98], 1), ([32, 97, 98], 2)])
    Counter({(97, 98): 3, (32, 97): 2})
    >>> count_pairs([([97, 97, 97], 1)])  # overlapping occurrences all count
    Counter({(97, 97): 2})
    """
    counts: Counter[Pair] = Counter()
    for ids, n_occurrences in words:
        for left, right in pairwise(ids):
            counts[left, right] += n_occurrences
    return counts


def select_best_pair(
    pair_counts: Mapping[Pair, int],
    vocab: Mapping[int, bytes],
    tie_break: TieBreak = "ids_least",
    *,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
) -> Pair | None:
    """Returns the most frequent pair that the limits allow to merge, or None.

    >>> select_best_pair({(97, 98): 3, (32, 97): 3}, {i: bytes([i]) for i in range(256)})
    (32, 97)
    >>> select_best_pair({(97, 98): 3, (32, 97): 3}, {i: bytes([i]) for i in range(256)}, "bytes_greatest")
    (97, 98)

    Among equally frequent pairs, "ids_least" takes the smallest (left id, right id), and "bytes_greatest" the greatest
    (left bytes, right bytes), compared as tuples and not joined: (AB, C) beats (A, BC). "first_seen", minbpe's rule,
    takes the first one in `pair_counts`, whose order is that of the corpus as merged so far.
    """

    def may_be_merged(pair: Pair) -> bool:
        n_bytes = len(vocab[pair[0]]) + len(vocab[pair[1]])
        fits = max_token_bytes is None or n_bytes <= max_token_bytes
        return fits and pair_counts[pair] >= min_frequency

    def by_ids(pair: Pair) -> tuple[int, int, int]:
        return pair_counts[pair], -pair[0], -pair[1]

    def by_bytes(pair: Pair) -> tuple[int, bytes, bytes]:
        return pair_counts[pair], vocab[pair[0]], vocab[pair[1]]

    candidates = filter(may_be_merged, pair_counts)
    if tie_break == "ids_least":
        return max(candidates, key=by_ids, default=None)
    if tie_break == "bytes_greatest":
        return max(candidates, key=by_bytes, default=None)
    if tie_break == "first_seen":
        # `max` returns the first of equal ones, and `count_pairs` inserted them in the order of the corpus.
        return max(candidates, key=pair_counts.__getitem__, default=None)
    raise ValueError(f"tie_break is {tie_break!r}; use 'ids_least', 'bytes_greatest' or 'first_seen'")


def best_pairs(
    pair_counts: Mapping[Pair, int],
    vocab: Mapping[int, bytes],
    n: int,
    tie_break: TieBreak = "ids_least",
    **limits: Any,
) -> list[tuple[Pair, int]]:
    """Returns the pair to merge and the `n - 1` pairs that would be next without it, with their counts.

    >>> best_pairs({(97, 98): 3, (98, 97): 2, (32, 97): 3}, {i: bytes([i]) for i in range(256)}, 2)
    [((32, 97), 3), ((97, 98), 3)]
    """
    left = dict(pair_counts)
    found: list[tuple[Pair, int]] = []
    while len(found) < n and (pair := select_best_pair(left, vocab, tie_break, **limits)) is not None:
        found.append((pair, left.pop(pair)))
    return found


def apply_merge(ids: Sequence[int], pair: Pair, merged_id: int) -> list[int]:
    """Replaces each occurrence of a pair by the merged id, left to right, without overlaps.

    >>> apply_merge([97, 98, 99, 97, 98], (97, 98), 256)
    [256, 99, 256]
    >>> apply_merge([97, 97, 97], (97, 97), 256)
    [256, 97]
    """
    merged: list[int] = []
    position = 0
    while position < len(ids):
        if position + 1 < len(ids) and (ids[position], ids[position + 1]) == pair:
            merged.append(merged_id)
            position += 2
        else:
            merged.append(ids[position])
            position += 1
    return merged


class Stopwatch:
    """Sums the seconds spent in each named part of a loop."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, part: str) -> None:
        """Adds the time since the last lap to `part`."""
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now


def learn_merges(
    words: list[Word],
    vocab: dict[int, bytes],
    n_merges: int,
    first_id: int,
    tie_break: TieBreak,
    *,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    watch: Stopwatch | None = None,
    trace: list[list[tuple[Pair, int]]] | None = None,
) -> list[Merge]:
    """Learns up to `n_merges` merges; stops early when no pair is left.

    The merged tokens get the ids `first_id`, `first_id + 1`, ... and are added to `vocab`. The N_TRACED `best_pairs` of
    each step are appended to `trace`.
    """
    watch = watch or Stopwatch()
    merges: list[Merge] = []
    while len(merges) < n_merges:
        pair_counts = count_pairs(words)
        watch.lap("counting pairs")
        pair = select_best_pair(
            pair_counts, vocab, tie_break, min_frequency=min_frequency, max_token_bytes=max_token_bytes
        )
        watch.lap("max")
        if pair is None:
            break
        if trace is not None:
            limits = {"min_frequency": min_frequency, "max_token_bytes": max_token_bytes}
            trace.append(best_pairs(pair_counts, vocab, N_TRACED, tie_break, **limits))
        merge = Merge(*pair, merged_id=first_id + len(merges))
        merges.append(merge)
        vocab[merge.merged_id] = vocab[merge.left] + vocab[merge.right]
        words = [(apply_merge(ids, pair, merge.merged_id), count) for ids, count in words]
        watch.lap("updating")
    return merges


def train(
    documents: str | Iterable[str],
    vocab_size: int,
    *,
    pattern: str | tuple[str, ...] = "gpt2",
    special_tokens: Collection[str] = ("<|endoftext|>",),
    corpus_specials: Literal["text", "split"] = "text",
    watch: Stopwatch | None = None,
    **fields: Any,
) -> Model:
    """Trains on documents; the defaults are profile "bpetite". `fields`: other arguments of `train_from_counts`.

    >>> model = train(["ab ab ab"], 258)
    >>> model.merges
    [Merge(left=97, right=98, merged_id=256), Merge(left=32, right=256, merged_id=257)]
    >>> model.special_tokens
    {'<|endoftext|>': 258}

    `corpus_specials` says how to treat a special token in a document: "text" trains on it like any other text, "split"
    removes it and splits the document there. Raises ValueError if `vocab_size` is less than the base vocabulary.
    """
    watch = watch or Stopwatch()
    if isinstance(documents, str):
        documents = [documents]
    check_texts("documents", documents)
    if corpus_specials == "split":
        documents = (part for document in documents for part in documents_of(document, special_tokens))
    counts = count_pretokens(documents, pattern)
    watch.lap("counting words")
    return train_from_counts(
        counts,
        vocab_size,
        pattern=pattern,
        special_tokens=special_tokens,
        watch=watch,
        **fields,
    )


def train_from_counts(
    counts: Mapping[bytes, int],
    vocab_size: int,
    *,
    pattern: str | tuple[str, ...] = "gpt2",
    special_tokens: Collection[str] = ("<|endoftext|>",),
    special_ids: SpecialIds = "last",
    byte_order: ByteOrder = "value",
    specials_counted: bool = False,
    tie_break: TieBreak = "ids_least",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    watch: Stopwatch | None = None,
    trace: list[list[tuple[Pair, int]]] | None = None,
) -> Model:
    """Trains on pretokens with their counts; see `train`.

    >>> train_from_counts({b"ab": 1, b" ab": 2}, 257).merges
    [Merge(left=97, right=98, merged_id=256)]
    """
    check_special_tokens(special_tokens)
    n_merges = count_merges_wanted(vocab_size, len(special_tokens) if specials_counted else 0)
    ids = number_ids(special_ids, len(special_tokens), n_merges)
    id_of_byte = {byte: ids.first_byte + index for index, byte in enumerate(bytes_in_order(byte_order))}
    vocab = {token_id: bytes([byte]) for byte, token_id in id_of_byte.items()}
    words = [([id_of_byte[byte] for byte in pretoken], count) for pretoken, count in counts.items()]
    merges = learn_merges(
        words,
        vocab,
        n_merges,
        ids.first_merge,
        tie_break,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        watch=watch,
        trace=trace,
    )
    # If training stopped early, special tokens that come last follow the last merge learned.
    first_special = number_ids(special_ids, len(special_tokens), len(merges)).first_special
    specials = {token: first_special + index for index, token in enumerate(special_tokens)}
    return Model(vocab, merges, specials, pattern)


class NaiveTrainer:
    """Trains on a file, and reports where the time went.

    Follows CS336: files are split on special tokens; the ids are those of bytes, then special tokens, then merges; ties
    go to the greatest bytes. After training, `seconds` has the seconds spent in "counting words", "counting pairs",
    "max" and "updating".
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def train(self, input_path: str | os.PathLike[str], vocab_size: int, special_tokens: Collection[str]) -> Model:
        """Trains on the documents of the file; see `read_documents` and `train`."""
        watch = Stopwatch()
        self.seconds = watch.seconds
        return train(
            read_documents(input_path, special_tokens),
            vocab_size,
            special_tokens=special_tokens,
            special_ids="after_bytes",
            specials_counted=True,
            tie_break="bytes_greatest",
            watch=watch,
        )

    def report(self) -> str:
        """Returns one line per part, and the total.

        For example:
            counting words     1.2 s
            ...
            total             30.5 s
        """
        lines = [f"{part:<16}{seconds:8.1f} s" for part, seconds in self.seconds.items()]
        return "\n".join([*lines, f"{'total':<16}{sum(self.seconds.values()):8.1f} s"])
