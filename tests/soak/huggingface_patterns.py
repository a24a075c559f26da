"""Random regular expressions, most of what is taken from a tokenizer.json: split as there.

A pattern is refused by name, or pairloom splits by it as HuggingFace's library does, also after it was written back;
and what is written for tiktoken gives the same ids there. Searches that an engine gives up are left out.
"""

import random
from collections.abc import Iterator
from typing import Any

from pairloom import FormatError, PatternError, Tokenizer, _core, pretokenize
from tests.soak.harness import Result

SUMMARY = "random regexes against HuggingFace's library and tiktoken; a failure is a text that is split otherwise"
QUICK = 100
FULL = 20_000

_N_TEXTS = 25
_CHARACTERS = (*"aabbcskK1 .\n-_'<%ßéſ²東Σ", "\u212a", "\u0301", "\u200d", "\r\n", "ss", "  ", "12", "Ab")
_ATOMS = (
    *("a", "a", "b", "c", "s", "t", "k", "1", "é", "東", " ", "'", "<", r"\.", r"\<", r"\%", r"\-", r"\ ", ".", "[ab]"),
    *(r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"\h", r"\n", r"\x41", r"\u00e9", r"\x{e9}"),
    *(r"\p{L}", r"\P{L}", r"\p{Lu}", r"\p{N}", r"\p{M}", r"\p{P}", r"\p{Han}"),
)
_ASSERTIONS = ("^", "$", r"\A", r"\z", r"\b", r"\B", r"(?!\S)", r"(?=\s)", r"(?!\d)", r"\s++$")
_REFUSED = (r"\K", r"\G", r"\R", r"\X", r"\Z", r"\1", "(?<=a)", "(?m:.)", "(?i)", "(?<n>a)", "{", "]", r"\p{Word}")
_MEMBERS = (
    *("a-c", "s", "S", "k", "A-Z", "ß", "é-ü", ".", "'", " ", "|", "(", "&", "<", "0-9", "!-~", "^"),
    *(r"\-", r"\]", r"\n", "-", r"\x00-\x7F", r"\w", r"\W", r"\d", r"\s", r"\S", r"\h"),
    *(r"\p{L}", r"\P{L}", r"\p{Lu}", "[:alpha:]"),
)
_QUANTIFIERS = ("*", "+", "?", "{1,2}", "{2}", "{0,2}", "{2,}")
_GROUPS = ("(", "(", "(?:", "(?:", "(?i:", "(?>", "(?=", "(?!")
_BEHAVIORS = ("isolated", "merged_with_previous", "merged_with_next", "contiguous")


def run(count: int, seed: int) -> Iterator[Result]:
    """Runs `count` patterns."""
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        # Half of them have few letters, which repetitions and alternatives meet more often.
        pattern = _Pattern(rng, _ATOMS if number % 2 else ("a", "a", "b", "[ab]", "c")).alternatives(2)
        characters = _CHARACTERS if number % 2 else ("a", "a", "b", "b", "c")
        texts = ["".join(rng.choices(characters, k=rng.randrange(1, 10))) for _ in range(_N_TEXTS)]
        try:
            found = _outcomes(pattern, rng.choice(_BEHAVIORS), texts)
            yield Result("patterns", {"patterns": 1, **dict.fromkeys(found, 1)})
        except AssertionError as error:
            yield Result("patterns", {"patterns": 1}, f"pattern {number} of seed {seed}: {error}")


def _outcomes(pattern: str, behavior: str, texts: list[str]) -> list[str]:
    """Returns the columns of the table that count the pattern."""
    import tokenizers

    found = ["split alike"]

    try:
        theirs = tokenizers.Regex(pattern)
    except Exception:
        return ["no regex there"]
    try:
        ours, can_be_empty = _core.read_oniguruma(pattern)
        step = f"(?#{behavior}){ours}" if behavior != "isolated" or can_be_empty else f"(?:{ours})"
        pieces = [_ours(text, step) for text in texts]
    except PatternError:
        return ["refused"]
    try:
        back = tokenizers.Regex(_core.write_oniguruma(ours)[0])
        found.append("of these written back")
    except PatternError:
        back = theirs
    for text, split in zip(texts, pieces, strict=True):
        for regex in (theirs, back):
            wanted = _theirs(regex, behavior, text)
            assert None in (split, wanted) or split == wanted, f"{pattern!a}, here {ours!a}: {text!a} {split} {wanted}"
    if not can_be_empty and _check_tiktoken(f"(?:{ours})|[\\s\\S]", texts):
        found.append("of these written for tiktoken")
    return found


def _check_tiktoken(pattern: str, texts: list[str]) -> bool:
    """Whether it is written for tiktoken; the vocabulary holds every part of the texts, so that ids show splits."""
    ranks = {bytes((byte,)): byte for byte in range(256)}
    for text in texts:
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                ranks.setdefault(text[start:end].encode(), len(ranks))
    ours = Tokenizer.from_ranks(ranks, pattern)
    try:
        theirs = ours.to_tiktoken()
    except (FormatError, PatternError):
        return False
    for text in texts:
        ids, wanted = ours.encode_ordinary(text), theirs.encode_ordinary(text)
        assert ids == wanted, f"{pattern!a} in tiktoken: {text!a} has {wanted}, not {ids}"
    return True


def _ours(text: str, pattern: str) -> list[str] | None:
    try:
        return [piece.decode() for piece in pretokenize(text, pattern)]
    except PatternError as error:
        if "limit" not in str(error):
            raise
        return None


def _theirs(regex: Any, behavior: str, text: str) -> list[str] | None:
    """The pieces there; None where the search is given up, by a panic."""
    import tokenizers

    try:
        return [piece for piece, _ in tokenizers.pre_tokenizers.Split(regex, behavior).pre_tokenize_str(text)]
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


class _Pattern:
    """Makes one pattern."""

    def __init__(self, rng: random.Random, atoms: tuple[str, ...]) -> None:
        self.rng = rng
        self.atoms = atoms

    def alternatives(self, depth: int) -> str:
        return "|".join(self._sequence(depth) for _ in range(self.rng.choice((1, 1, 2, 3))))

    def _sequence(self, depth: int) -> str:
        return "".join(self._repeated(depth) for _ in range(self.rng.choice((1, 1, 2, 2, 3, 0 if depth < 2 else 1))))

    def _repeated(self, depth: int) -> str:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.08:
            return rng.choice(_ASSERTIONS)
        if kind < 0.09:
            return rng.choice(_REFUSED)
        atom = (
            self._group(depth - 1) if depth and kind < 0.35 else self._class() if kind < 0.5 else rng.choice(self.atoms)
        )
        if atom.startswith(("(?=", "(?!")) or rng.random() < 0.55:
            return atom
        return atom + rng.choice(_QUANTIFIERS) + rng.choice(("", "", "", "?", "+"))

    def _group(self, depth: int) -> str:
        return f"{self.rng.choice(_GROUPS)}{self.alternatives(depth)})"

    def _class(self, *, is_nested: bool = False) -> str:
        rng = self.rng
        if len(self.atoms) < 6 and rng.random() < 0.9:
            return rng.choice(("[ab]", "[^a]", "[a-c&&[^b]]"))
        members = rng.choices(_MEMBERS, k=rng.randrange(1, 4))
        if not is_nested and rng.random() < 0.15:
            members.append(self._class(is_nested=True))
        if rng.random() < 0.1:
            members.append("&&" + rng.choice((r"\w", "a-z", "[^a]", r"[\s\S]")))
        return f"[{'^' if rng.random() < 0.3 else ''}{''.join(members)}]"
