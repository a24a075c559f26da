"""Training that updates pair counts instead of recounting them after each merge.

The merges equal those of `naive.learn_merges` with "bytes_greatest". Words are lists of ids, one for each occurrence.

Three maps make a merge cheap, and are consistent after every step:
    pair_counts        {pair: number of occurrences}; deleted when 0
    pair_to_words      {pair: indices of the words that contain it}; deleted when empty
    word_pair_indices  {word index: [(position, pair), ...]}, the pairs of each word in order
Cost of a merge: the words that contain the pair, and one pass over all pairs to find the best.
"""

import copy
from collections.abc import Mapping, Sequence
from itertools import pairwise

from pairloom.reference.naive import Pair, Stopwatch, apply_merge, select_best_pair
from pairloom.reference.vocabulary import Merge


class BPETrainer:
    """Learns merges one by one.

    >>> trainer = BPETrainer({i: bytes([i]) for i in range(256)}, [list(b"hello"), list(b"world")])
    >>> trainer.get_best_pair()  # every pair occurs once: the greatest bytes win, "w" and "o"
    (119, 111)
    >>> trainer.merge_pair((119, 111))
    256
    >>> trainer.words[1]
    [256, 114, 108, 100]
    """

    def __init__(self, vocab: Mapping[int, bytes], words: Sequence[Sequence[int]]) -> None:
        """Counts the pairs of all words. Both arguments are copied and never changed."""
        self.vocab: dict[int, bytes] = dict(copy.deepcopy(vocab))
        self.words: list[list[int]] = [list(word) for word in words]
        self.merges: list[Merge] = []
        self.pair_counts: dict[Pair, int] = {}
        self.pair_to_words: dict[Pair, set[int]] = {}
        self.word_pair_indices: dict[int, list[tuple[int, Pair]]] = {}
        for index in range(len(self.words)):
            self._add_pairs_of(index)

    def get_best_pair(self) -> Pair | None:
        """Returns the most frequent pair, or None; ties go to the pair with the greatest bytes."""
        return select_best_pair(self.pair_counts, self.vocab, "bytes_greatest")

    def merge_pair(self, pair: Pair) -> int:
        """Replaces a pair in the words that contain it, and returns the new token's id, the next free one."""
        merged_id = max(self.vocab, default=-1) + 1
        self.vocab[merged_id] = self.vocab[pair[0]] + self.vocab[pair[1]]
        self.merges.append(Merge(*pair, merged_id=merged_id))
        for index in sorted(self.pair_to_words.get(pair, ())):
            self._remove_pairs_of(index)
            self.words[index] = apply_merge(self.words[index], pair, merged_id)
            self._add_pairs_of(index)
        return merged_id

    def train(self, n_merges: int, watch: Stopwatch | None = None) -> list[Merge]:
        """Learns up to `n_merges` more merges, and returns all merges so far; stops when no pair is left.

        `watch` records the seconds spent in "max" and "updating".
        """
        watch = watch or Stopwatch()
        for _ in range(n_merges):
            pair = self.get_best_pair()
            watch.lap("max")
            if pair is None:
                break
            self.merge_pair(pair)
            watch.lap("updating")
        return self.merges

    def _add_pairs_of(self, index: int) -> None:
        """Adds the pairs of one word to the three maps."""
        word = self.words[index]
        pairs = list(enumerate(pairwise(word)))
        self.word_pair_indices[index] = pairs
        for _, pair in pairs:
            self.pair_counts[pair] = self.pair_counts.get(pair, 0) + 1
            self.pair_to_words.setdefault(pair, set()).add(index)

    def _remove_pairs_of(self, index: int) -> None:
        """Removes the pairs of one word from the three maps."""
        pairs = [pair for _, pair in self.word_pair_indices.pop(index)]
        for pair in pairs:
            self.pair_counts[pair] -= 1
            if self.pair_counts[pair] == 0:
                del self.pair_counts[pair]
        for pair in set(pairs):
            self.pair_to_words[pair].discard(index)
            if not self.pair_to_words[pair]:
                del self.pair_to_words[pair]
