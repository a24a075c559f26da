"""Random regular expressions of few letters, with groups and references: split as HuggingFace's library splits.

What a loop, a lookahead or a `\\K` leaves behind shows in such patterns, and hardly in those of `huggingface_patterns`.
"""

from __future__ import annotations

import random

from tests.soak.harness import Table
from tests.soak.huggingface_patterns import run_patterns

SUMMARY = "random regexes of few letters and many groups against HuggingFace's library, read and written back"
QUICK = 150
FULL = 20_000

_QUANTIFIERS = ("*", "+", "?", "{1,2}", "{2}", "{0,2}", "{2,}", "{1,}")
_GROUPS = ("(", "(", "(", "(?:", "(?:", "(?>", "(?=", "(?!")


def run(count: int, seed: int) -> Table:
    """Runs `count` patterns and tabulates what became of them."""
    return run_patterns(count, seed, lambda rng: Pattern(rng).alternatives(2), ("a", "a", "b", "b", "c"))


class Pattern:
    """Makes one pattern."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.n_groups = 0
        self.rare = rng.choice((r"\K", "(?<=a)", r"\G", "$"))
        self.refers = rng.random() < 0.7

    def alternatives(self, depth: int) -> str:
        return "|".join(self._sequence(depth) for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3))))

    def _sequence(self, depth: int) -> str:
        return "".join(self._repeated(depth) for _ in range(self.rng.choice((1, 2, 2, 3, 3, 4))))

    def _repeated(self, depth: int) -> str:
        atom = self._atom(depth)
        is_fixed = atom == self.rare or atom.startswith(("(?=", "(?!", "(?<=", "(?<!"))
        if is_fixed or self.rng.random() < 0.4:
            return atom
        return atom + self.rng.choice(_QUANTIFIERS) + self.rng.choice(("", "", "?", "?", "+"))

    def _atom(self, depth: int) -> str:
        rng, kind = self.rng, self.rng.random()
        if depth == 0 or kind < 0.45:
            return rng.choice(("a", "a", "b", "[ab]", ".", "c"))
        if kind < 0.62 and self.n_groups and self.refers:
            return f"\\{rng.randrange(1, self.n_groups + 1)}"
        if kind < 0.68:
            return self.rare
        if kind < 0.75:
            return rng.choice(("(?<=", "(?<!")) + "".join(rng.choices(("a", "b", "[ab]", "(?:a|b)"), k=2)) + ")"
        begin = rng.choice(_GROUPS)
        body = self.alternatives(depth - 1)
        self.n_groups += begin == "("
        return f"{begin}{body})"
