"""Random regular expressions of Oniguruma: split as HuggingFace's library splits, or refused by name.

Each pattern that is taken is written back for the library too, and must split there as before. A search that either
engine gives up is left out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from pairloom import FormatError, PatternError, pretokenize
from pairloom.formats.shared.empty_matches import can_match_nothing
from pairloom.formats.shared.oniguruma import from_oniguruma, to_oniguruma
from tests.soak.harness import Table

SUMMARY = (
    "random regexes against HuggingFace's library, read and written back; a failure is a text that is split otherwise"
)
QUICK = 150
FULL = 20_000

_N_TEXTS = 25
CHARACTERS = (*"abcskK1 .\n-_'ßéÉſiI²東Σςσ", "\u212a", "\u0130", "\u0307", "\u0301", "\u200d", "\r\n", "ss")
# What grapheme clusters tell apart: marks, prepended signs, jamo, regional indicators, pictographs and what joins them.
_CLUSTERS = (
    *"a\u0301\u0345\u0903\u094d\u0915\u0600\u0e33\u1100\u1161\u11a8\uac00\uac01한🇦🇧👩👩🏽©\u200d\u200d\r\n\t",
    "\r\n",
)
_ATOMS = (
    *("a", "b", "c", "s", "k", "K", "i", "1", "ß", "é", r"\.", r"\ ", "\u212a", ".", r"\x41", r"\x{e9}", r"\n"),
    *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\h", r"\H", r"\R", r"\N", r"\O", r"\X"),
    *(r"\p{L}", r"\P{L}", r"\p{^L}", r"\p{Lu}", r"\p{N}", r"\p{P}", r"\p{Word}"),
)
_ASSERTIONS = ("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B", r"\G", r"\K")
_MEMBERS = (
    *("a-c", "s", "S", "k", "A-Z", "ß", "é", ".", "'", " ", r"\n", "[:alpha:]", "[:^alpha:]", "[:punct:]", "[:space:]"),
    *(r"\w", r"\W", r"\d", r"\s", r"\S", r"\p{L}", r"\P{L}", r"\p{^N}", r"\h", r"\H"),
)
_QUANTIFIERS = ("*", "+", "?", "{1,2}", "{2}", "{0,2}", "{2,}")
_GROUPS = ("(", "(?:", "(?i:", "(?-i:", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?m:", "(?i)", "(?m)", "(?<n>")
_BEHAVIORS = ("isolated", "merged_with_previous", "merged_with_next", "contiguous")


def run(count: int, seed: int) -> Table:
    """Runs `count` patterns and tabulates what became of them."""
    return run_patterns(count, seed, lambda rng: Pattern(rng).alternatives(2), CHARACTERS)


def run_patterns(count: int, seed: int, make: Callable[[random.Random], str], characters: tuple[str, ...]) -> Table:
    """Runs `count` patterns that `make` makes on texts of `characters`."""
    table = Table(("patterns", "no regex there", "refused", "split alike", "of these not written back", "otherwise"))
    found: Counter[str] = Counter()
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        pattern = make(rng)
        try:
            found[_outcome(pattern, rng, found, characters)] += 1
        except AssertionError as error:
            found["failed"] += 1
            table.failures.append(f"pattern {number} of seed {seed}: {error}")
    names = ("no regex", "refused", "alike", "not written", "failed")
    table.add(count, *(found[name] for name in names))
    return table


def _outcome(pattern: str, rng: random.Random, found: Counter[str], characters: tuple[str, ...]) -> str:
    import tokenizers

    try:
        theirs = tokenizers.Regex(pattern)
    except Exception:
        return "no regex"
    try:
        ours = from_oniguruma(pattern)
    except FormatError:
        return "refused"
    ours = f"(?:{ours})"
    behavior = rng.choice(_BEHAVIORS)
    comment = f"(?#{behavior})" if behavior != "isolated" or can_match_nothing(ours) else ""
    try:
        pretokenize("", comment + ours)
    except PatternError:
        return "refused"
    try:
        back = tokenizers.Regex(to_oniguruma(ours))
    except FormatError:
        back = None
        found["not written"] += 1
    for _ in range(_N_TEXTS):
        letters = _CLUSTERS if r"\X" in pattern and rng.random() < 0.7 else characters
        text = "".join(rng.choices(letters, k=rng.randrange(1, 10)))
        wanted = _split(theirs, behavior, text)
        try:
            pieces = [piece.decode() for piece in pretokenize(text, comment + ours)]
        except PatternError:
            continue
        if wanted is not None:
            assert pieces == wanted, f"{pattern!a}, respelt {ours!a}, splits {text!a} into {pieces!a}, not {wanted!a}"
        if back is not None and (again := _split(back, behavior, text)) is not None:
            assert again == pieces, f"{ours!a}, written {to_oniguruma(ours)!a}: {text!a} into {again!a}, not {pieces!a}"
    return "alike"


def _split(regex: Any, behavior: str, text: str) -> list[str] | None:
    """The pieces there; None where the search is given up, by a panic."""
    import tokenizers

    try:
        return [piece for piece, _ in tokenizers.pre_tokenizers.Split(regex, behavior).pre_tokenize_str(text)]
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


class Pattern:
    """Makes one pattern."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.n_groups = 0
        self.has_name = False

    def alternatives(self, depth: int) -> str:
        return "|".join(self._sequence(depth) for _ in range(self.rng.choice((1, 1, 2, 3))))

    def _sequence(self, depth: int) -> str:
        return "".join(self._repeated(depth) for _ in range(self.rng.randrange(1, 4)))

    def _repeated(self, depth: int) -> str:
        atom = self._atom(depth)
        is_fixed = atom in ("(?i)", "(?m)", *_ASSERTIONS) or atom.startswith(("(?=", "(?!", "(?<=", "(?<!"))
        if is_fixed or self.rng.random() < 0.6:
            return atom
        return atom + self.rng.choice(_QUANTIFIERS) + self.rng.choice(("", "", "?", "+"))

    def _atom(self, depth: int) -> str:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.45:
            return rng.choice(_ATOMS)
        if kind < 0.62:
            return self._class()
        if kind < 0.70:
            return rng.choice(_ASSERTIONS)
        if kind < 0.73:
            references = [f"\\{number + 1}" for number in range(self.n_groups)]
            return rng.choice([*references, r"\k<n>" if self.has_name else r"\K"])
        return self._group(depth - 1) if depth else rng.choice("abcs1")

    def _group(self, depth: int) -> str:
        begin = self.rng.choice(_GROUPS)
        if begin in ("(?i)", "(?m)"):
            return begin
        if begin in ("(?<=", "(?<!"):
            return begin + "".join(self.rng.choices(("a", "b", "s", r"\s", r"\w", "[ab]", "."), k=2)) + ")"
        body = self.alternatives(depth)
        self.n_groups += begin == "("
        self.has_name |= begin == "(?<n>"
        return f"{begin}{body})"

    def _class(self, is_nested: bool = False) -> str:
        rng = self.rng
        members = rng.choices(_MEMBERS, k=rng.randrange(1, 4))
        if not is_nested and rng.random() < 0.15:
            members.append(self._class(is_nested=True))
        if rng.random() < 0.1:
            members.append("&&" + rng.choice((r"\w", "a-z", "[^a]", r"[\s\S]")))
        return f"[{'^' if rng.random() < 0.3 else ''}{''.join(members)}]"
