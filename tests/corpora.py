"""Random corpora that quickly expose differences between engines; a seed gives the same corpus on any machine."""

import random

ALPHABETS: dict[str, list[str]] = {
    "runs": list("ab"),
    "words": [*"abc ", "ab", "abc", " a", "the ", "'s"],
    "white space": [*" \t\n\r\f\x1c", "\r\n", "\u00a0", "\u3000", "\u200b", "\u2028", "a", "b", "1"],
    "scripts": [*"aé ßдом你好世界\u0301ǅ\u017fʰ²Ⅷ٣😀😁", "\u200d", "नम", "مر", "한글"],
    "signs": [*"a1!?.,;:'\"-_/\\()#<|>\0\x7f", "'ll", "'T", "--", "123", "..."],
    "high bytes": ["\u00ff", "\u0100", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "a", "ÿa"],
}
"""What corpora are drawn from: "runs" makes pairs that overlap themselves, the others trip scanners."""


def random_documents(rng: random.Random, alphabet: list[str] | None = None) -> list[str]:
    """Up to six documents of up to forty pieces, from few distinct words, so that many counts tie."""
    letters = alphabet or rng.choice(list(ALPHABETS.values()))
    words = ["".join(rng.choices(letters, k=rng.randint(1, 8))) for _ in range(rng.randint(1, 6))]
    return [
        "".join(rng.choice(words) if rng.random() < 0.7 else rng.choice(letters) for _ in range(rng.randint(0, 40)))
        for _ in range(rng.randint(1, 6))
    ]
