"""BPE training over an alphabet of characters, as in HuggingFace's BpeTrainer.

Words are texts; for byte-level training they are written in GPT-2's byte alphabet. The ids are, in order: special
tokens, characters by code point, characters with a prefix or suffix, merge results. Of equally frequent pairs, the
smallest (id, id) merges. A merge whose text is already a token takes that token's id, so the vocabulary does not grow.
Cost: merges x distinct words.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from pairloom.reference.naive import apply_merge, count_pairs


def train_over_alphabet(
    words: Mapping[str, int],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = (),
    min_frequency: int = 0,
    limit_alphabet: int | None = None,
    initial_alphabet: Sequence[str] = (),
    prefix: str = "",
    suffix: str = "",
    max_token_length: int | None = None,
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Trains on words with their counts, and returns the vocabulary (token -> id) and the merges.

    limit_alphabet: how many characters to keep: first those of initial_alphabet, then the most frequent; ties go to the
    smaller code point (HuggingFace: arbitrary). prefix: put before every character of a word but the first; suffix: put
    after the last one. Characters with a prefix or suffix get ids in the order of their texts (HuggingFace: arbitrary).
    max_token_length: a merged token must have fewer characters than this, or exactly two.

    >>> train_over_alphabet({"ab": 2, "abc": 1}, 5)
    ({'a': 0, 'b': 1, 'c': 2, 'ab': 3, 'abc': 4}, [('a', 'b'), ('ab', 'c')])
    """
    vocab: dict[str, int] = {}
    for text in (*special_tokens, *alphabet_of(words, limit_alphabet, initial_alphabet)):
        vocab.setdefault(text, len(vocab))

    def written(word: str) -> list[str]:
        parts = [("" if at == 0 else prefix) + letter for at, letter in enumerate(word)]
        return [*parts[:-1], parts[-1] + suffix] if parts else []

    split = [
        ([part for part, letter in zip(written(word), word, strict=True) if letter in vocab], count)
        for word, count in words.items()
    ]
    for text in sorted({part for parts, _ in split for part in parts}):
        vocab.setdefault(text, len(vocab))
    symbols = [([vocab[part] for part in parts], count) for parts, count in split]
    texts = {token_id: text for text, token_id in vocab.items()}
    n_letters = Counter(dict.fromkeys(texts, 1))
    merges: list[tuple[str, str]] = []
    while len(vocab) < vocab_size:
        best = None
        for pair, count in count_pairs(symbols).items():
            length = n_letters[pair[0]] + n_letters[pair[1]]
            is_short = max_token_length is None or length < max_token_length or length == 2
            if is_short and count >= max(min_frequency, 1):
                best = min(best or (-count, pair), (-count, pair))
        if best is None:
            break
        left, right = best[1]
        text = texts[left] + texts[right].removeprefix(prefix)
        made = vocab.setdefault(text, len(vocab))
        texts[made] = text
        n_letters[made] = n_letters[left] + n_letters[right]
        merges.append((texts[left], texts[right]))
        symbols = [(apply_merge(ids, (left, right), made), count) for ids, count in symbols]
    return vocab, merges


def alphabet_of(words: Mapping[str, int], limit: int | None, initial: Sequence[str]) -> list[str]:
    """Returns the characters that become tokens, by code point.

    >>> alphabet_of({"aab": 2, "bcd": 1}, 2, [])
    ['a', 'b']
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for letter in word:
            counts[letter] += count
    for letter in initial:
        counts[letter] = sys.maxsize
    order = sorted(counts, key=lambda letter: (-counts[letter], letter))
    return sorted(order if limit is None else order[:limit])
