"""Parity-aware training by its definition: each step merges the best pair of the group whose text costs most.

Groups are usually languages. The cost of a group is the number of tokens of its reference text; the references say the
same in each language. Without references, the cost is the number of tokens per byte of the group's own pretokens. Ties
go to the first group. A group without a pair that can merge is skipped. Each merge is applied to all groups.
Source: Foroutan et al. 2025, arXiv 2508.04796, whose program stops if the worst group has no pair.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from pairloom.reference.naive import Pair, TieBreak, Word, apply_merge, count_pairs, select_best_pair
from pairloom.reference.vocabulary import Merge


def n_tokens(words: Sequence[Word]) -> int:
    """Returns the number of tokens of the words, counting all occurrences.

    >>> n_tokens([([97, 98], 3), ([99], 1)])
    7
    """
    return sum(len(ids) * count for ids, count in words)


def learn_parity_merges(
    groups: Mapping[str, list[Word]],
    references: Mapping[str, list[Word]] | None,
    vocab: dict[int, bytes],
    n_merges: int,
    first_id: int,
    tie_break: TieBreak = "ids_least",
    *,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
) -> list[Merge]:
    """Learns up to `n_merges` merges; the tokens get `first_id`, `first_id + 1`, ... and are added to `vocab`.

    groups, references: words of single bytes, under the same names.

    >>> vocab = {byte: bytes([byte]) for byte in range(256)}
    >>> groups = {"en": [([97, 98], 9)], "hi": [([97, 99], 3), ([97, 98], 1)]}
    >>> learn_parity_merges(groups, None, vocab, 2, 256)
    [Merge(left=97, right=98, merged_id=256), Merge(left=97, right=99, merged_id=257)]
    """
    groups = dict(groups)
    measured = groups if references is None else dict(references)
    n_units = {name: 1 if references is not None else max(n_tokens(words), 1) for name, words in groups.items()}

    def cost(name: str) -> Fraction:
        return Fraction(n_tokens(measured[name]), n_units[name])

    def best_of(name: str) -> Pair | None:
        return select_best_pair(
            count_pairs(groups[name]), vocab, tie_break, min_frequency=min_frequency, max_token_bytes=max_token_bytes
        )

    merges: list[Merge] = []
    while len(merges) < n_merges:
        # The sort is stable, so ties go to the first group.
        by_cost = sorted(groups, key=cost, reverse=True)
        pair = next((pair for pair in map(best_of, by_cost) if pair is not None), None)
        if pair is None:
            break
        merge = Merge(*pair, merged_id=first_id + len(merges))
        merges.append(merge)
        vocab[merge.merged_id] = vocab[merge.left] + vocab[merge.right]
        for words_of in (groups,) if references is None else (groups, measured):
            for name, words in words_of.items():
                words_of[name] = [(apply_merge(ids, pair, merge.merged_id), count) for ids, count in words]
    return merges
