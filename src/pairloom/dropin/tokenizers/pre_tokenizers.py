"""The library's pre-tokenizers that training supports; each splits texts into pieces.

`of_pieces` defines a step. If a pattern of pairloom makes the same cuts as a step, the core runs that step while it
counts. The remaining steps then split each distinct piece that the core counted.
"""

import functools
import json
import re
from dataclasses import dataclass, field
from typing import ClassVar

from pairloom import _core
from pairloom._internal.arguments import check_choice, shown
from pairloom._internal.byte_alphabet import ALPHABET, to_alphabet
from pairloom.dropin.encoding import WHITE_SPACE
from pairloom.dropin.tokenizers.components import Component, Regex, Steps, not_taken
from pairloom.formats.reader import read
from pairloom.model import Pattern
from pairloom.patterns import GPT2

Span = tuple[int, int]
Piece = tuple[str, list[Span] | None]
"""A text, and the span of the original text that each character comes from; None if spans are not needed."""

_WHOLE = r"[\s\S]+"
_LOOKS_AROUND = re.compile(r"\(\?(?![:i])|\\[bBAzZGK]|[*+?}]\+|(?<![\[\\])\^|\$")


@dataclass
class Plan:
    """How pieces are counted: the core splits by `patterns`, then `steps` split each distinct pretoken further.

    prefix: put before a text that begins with none of `starts`. are_bytes: pretokens hold bytes, each of which stands
    for a letter of the byte alphabet. replacements: characters to replace. left_out: characters that no piece keeps.
    """

    patterns: list[str] = field(default_factory=list)
    prefix: str = ""
    starts: tuple[str, ...] = ()
    are_bytes: bool = False
    replacements: dict[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    steps: list["PreTokenizer"] = field(default_factory=list)

    @staticmethod
    def of(pre_tokenizer: "PreTokenizer | None") -> "Plan":
        """Makes the plan for a pre-tokenizer."""
        steps = steps_of(pre_tokenizer)
        plan = Plan()
        # The index of the first step that drops characters, and the patterns before it.
        dropping: tuple[int, list[str]] | None = None
        for index, step in enumerate(steps):
            if plan.are_bytes or not step._add_to_plan(plan, index, steps[index + 1 :]):
                if dropping is not None:
                    index, plan.patterns = dropping
                    plan.left_out = frozenset()
                elif not plan.are_bytes:
                    plan.patterns += [step._coarse_pattern] if step._coarse_pattern else []
                plan.steps = steps[index:]
                break
            if plan.left_out and dropping is None:
                dropping = index, list(plan.patterns)
        return plan

    @property
    def pattern(self) -> Pattern:
        """The pattern by which the core splits texts to count."""
        kept = [pattern for pattern in self.patterns if pattern != _WHOLE] or [_WHOLE]
        return kept[0] if len(kept) == 1 else tuple(kept)


class PreTokenizer(Component):
    """A step that splits texts into pieces."""

    kind: ClassVar[str] = "pre_tokenizer"

    def _kept_spans(self, texts: list[str]) -> list[list[Span]]:
        """Returns the spans of each text to keep as pieces."""
        raise NotImplementedError

    def _prefix(self, text: str, is_start: bool) -> str:
        """Returns what to put before a text that is not empty. is_start: it begins the original text."""
        return ""

    def _replace_characters(self, text: str) -> str:
        """Replaces characters of the text before it is split."""
        return text

    def _add_to_plan(self, plan: Plan, index: int, later: list["PreTokenizer"]) -> bool:
        """Adds the step to a plan if the core can make the same cuts. Returns whether it did."""
        return False

    @property
    def _coarse_pattern(self) -> str | None:
        """A pattern whose pretokens can be split one by one with the same result as the whole text; else None."""
        return None

    def of_pieces(self, pieces: list[Piece]) -> list[list[Piece]]:
        """Splits each piece."""
        given: list[Piece] = []
        for text, spans in pieces:
            before = self._prefix(text, not spans or spans[0][0] == 0) if text else ""
            more = [spans[0]] * len(before) + spans if before and spans else spans
            given.append((self._replace_characters(before + text), more))
        cuts = self._kept_spans([text for text, _ in given])
        return [
            [self._convert_piece((text[start:end], spans and spans[start:end])) for start, end in found]
            for (text, spans), found in zip(given, cuts, strict=True)
        ]

    def _convert_piece(self, piece: Piece) -> Piece:
        """Converts a piece after it was split."""
        return piece

    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, Span]]:
        """Returns the pieces of a text, each with its (start, end) in the text."""
        return [(text, (spans[0][0], spans[-1][1])) for text, spans in cut(self, sequence) if spans]


def steps_of(step: PreTokenizer | None) -> list[PreTokenizer]:
    """Returns the steps of a pre-tokenizer, with sequences flattened."""
    if isinstance(step, Sequence):
        return [inner for each in step.pretokenizers for inner in steps_of(each)]
    if isinstance(step, BertPreTokenizer):
        return [WhitespaceSplit(), Punctuation()]
    return [] if step is None else [step]


def cut(pre_tokenizer: PreTokenizer | None, text: str, start: int = 0) -> list[Piece]:
    """Splits one text into pieces whose spans are counted from `start`."""
    pieces: list[Piece] = [(text, [(start + at, start + at + 1) for at in range(len(text))])] if text else []
    for step in steps_of(pre_tokenizer):
        pieces = [piece for found in step.of_pieces(pieces) for piece in found]
    return pieces


def _spans_of(text: str, matches: list[Span], behavior: str, invert: bool) -> list[Span]:
    """Returns the pieces of a text with these matches, as `behavior` joins or drops them."""
    parts: list[tuple[int, int, bool]] = []
    at = 0
    for start, end in matches:
        if start > at:
            parts.append((at, start, invert))
        parts.append((start, end, not invert))
        at = end
    if at < len(text):
        parts.append((at, len(text), invert))
    if behavior == "removed":
        return [(start, end) for start, end, is_match in parts if not is_match]
    found: list[Span] = []
    before = None
    for start, end, is_match in parts:
        joins = found and (
            (behavior == "contiguous" and before is is_match)
            or (behavior == "merged_with_previous" and is_match and before is False)
            or (behavior == "merged_with_next" and not is_match and before is True)
        )
        if joins:
            start = found.pop()[0]
        found.append((start, end))
        before = is_match
    return found


@functools.lru_cache(maxsize=64)
def _core_pattern_of(node: str) -> Pattern:
    """Returns the pattern that the core reads from a tokenizer.json with this step."""
    vocab = {letter: index for index, letter in enumerate(ByteLevel.alphabet())}
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    steps = {"type": "Sequence", "pretokenizers": [json.loads(node), last]}
    file = {"pre_tokenizer": steps, "model": {"type": "BPE", "vocab": vocab, "merges": []}}
    return read("huggingface", json.dumps(file).encode(), "the tokenizer").pattern


_is_total = functools.lru_cache(maxsize=64)(_core.is_total)


class _Matching(PreTokenizer):
    """A step defined by a pattern and a behavior."""

    def _split_rule(self) -> tuple[str, str, bool]:
        """Returns (regular expression, behavior, invert)."""
        raise NotImplementedError

    def _dropped_characters(self) -> frozenset[str]:
        """Returns the characters that the step drops, if it drops all of them and no others; else an empty set."""
        return frozenset()

    def _kept_spans(self, texts: list[str]) -> list[list[Span]]:
        regex, behavior, invert = self._split_rule()
        found = _core.matches(texts, regex)
        return [_spans_of(text, spans, behavior, invert) for text, spans in zip(texts, found, strict=True)]

    def _add_to_plan(self, plan: Plan, index: int, later: list[PreTokenizer]) -> bool:
        regex, behavior, _ = self._split_rule()
        if left_out := self._dropped_characters():
            plan.left_out |= left_out
            plan.patterns.append(regex)
        elif behavior == "removed":
            return False
        else:
            pattern = _core_pattern_of(json.dumps(self.node()))
            plan.patterns += [pattern] if isinstance(pattern, str) else pattern
        return True

    @property
    def _coarse_pattern(self) -> str | None:
        # Taken out of its text, a match still matches as a whole, unless the pattern looks around or is possessive.
        regex = self._split_rule()[0]
        return None if _LOOKS_AROUND.search(regex) else regex


@dataclass(eq=False)
class Split(_Matching):
    """Splits around the matches of a pattern."""

    pattern: str | Regex
    behavior: str
    invert: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if _core.can_match_nothing(regex := self._split_rule()[0]):
            raise ValueError(f"the pattern {shown(regex)} can match nothing; rewrite it so that it cannot")

    def _split_rule(self) -> tuple[str, str, bool]:
        # Read it as Isolated, whose pattern is just the regular expression.
        pattern = _core_pattern_of(json.dumps(self.node() | {"behavior": "Isolated", "invert": False}))
        regex = str(pattern).removeprefix("(?#isolated)")
        is_total = self.behavior == "removed" and self.invert and _is_total(regex)
        return (regex, "isolated", False) if is_total else (regex, self.behavior, self.invert)


@dataclass(eq=False)
class WhitespaceSplit(_Matching):
    """Splits at white space and drops it."""

    def _split_rule(self) -> tuple[str, str, bool]:
        return r"\s+", "removed", False

    def _dropped_characters(self) -> frozenset[str]:
        return frozenset(WHITE_SPACE)


@dataclass(eq=False)
class Whitespace(WhitespaceSplit):
    r"""Keeps the matches of \w+|[^\w\s]+."""

    def _split_rule(self) -> tuple[str, str, bool]:
        return r"\w+|[^\w\s]+", "removed", True


@dataclass(eq=False)
class Digits(_Matching):
    """Makes each number a piece, or each digit with individual_digits."""

    individual_digits: bool = False

    def _split_rule(self) -> tuple[str, str, bool]:
        return _core.DIGIT, "isolated" if self.individual_digits else "contiguous", False


@dataclass(eq=False)
class Punctuation(_Matching):
    """Splits around punctuation."""

    behavior: str = "isolated"

    def _split_rule(self) -> tuple[str, str, bool]:
        return _core.PUNCTUATION, self.behavior, False


@dataclass(eq=False)
class BertPreTokenizer(PreTokenizer):
    """Splits at white space, which it drops, and around punctuation."""


@dataclass(eq=False)
class ByteLevel(PreTokenizer):
    """Splits as GPT-2 does, and writes each byte as a letter of the byte alphabet."""

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    @staticmethod
    def alphabet() -> list[str]:
        """Returns the letters of the 256 bytes."""
        return list(ALPHABET)

    def _prefix(self, text: str, is_start: bool) -> str:
        return " " if self.add_prefix_space and not text.startswith(" ") else ""

    def _kept_spans(self, texts: list[str]) -> list[list[Span]]:
        return _core.matches(texts, GPT2) if self.use_regex else [[(0, len(text))] for text in texts]

    def _convert_piece(self, piece: Piece) -> Piece:
        text, spans = piece
        if spans is None:
            return to_alphabet(text.encode()), None
        return to_alphabet(text.encode()), [
            span for span, character in zip(spans, text, strict=True) for _ in character.encode()
        ]

    def _add_to_plan(self, plan: Plan, index: int, later: list[PreTokenizer]) -> bool:
        if plan.left_out or (self.add_prefix_space and index):
            return False
        plan.patterns.append(GPT2 if self.use_regex else _WHOLE)
        plan.are_bytes = True
        if self.add_prefix_space:
            plan.prefix, plan.starts = " ", (" ",)
        return True


@dataclass(eq=False)
class Metaspace(PreTokenizer):
    """Turns spaces into `replacement`, puts one before the text, and splits before each."""

    replacement: str = "\u2581"
    prepend_scheme: str = "always"
    split: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.replacement) != 1:
            raise ValueError(f"replacement must be one character, not {self.replacement!r}")
        check_choice("prepend_scheme", self.prepend_scheme, ("always", "never", "first"))

    def _prefix(self, text: str, is_start: bool) -> str:
        prepends = self.prepend_scheme == "always" or (self.prepend_scheme == "first" and is_start)
        return self.replacement if prepends and text[0] not in (" ", self.replacement) else ""

    def _replace_characters(self, text: str) -> str:
        return text.replace(" ", self.replacement)

    def _kept_spans(self, texts: list[str]) -> list[list[Span]]:
        if not self.split:
            return [[(0, len(text))] for text in texts]
        found = []
        for text in texts:
            starts = [0, *(at for at, character in enumerate(text) if character == self.replacement and at)]
            found.append(list(zip(starts, [*starts[1:], len(text)], strict=True)))
        return found

    def _add_to_plan(self, plan: Plan, index: int, later: list[PreTokenizer]) -> bool:
        # Other steps can treat a space differently from its replacement.
        is_seen = not all(isinstance(step, (Digits, Punctuation)) for step in later)
        if is_seen or plan.left_out or not self.split or (index and self.prepend_scheme != "never"):
            return False
        plan.patterns.append(self._coarse_pattern)
        plan.replacements = {" ": self.replacement}
        if self.prepend_scheme != "never":
            plan.prefix, plan.starts = " ", (" ", self.replacement)
        return True

    @property
    def _coarse_pattern(self) -> str:
        """Pieces begin with a space, except a text's first piece, which therefore gets one."""
        spaces = f" \\x{{{ord(self.replacement):x}}}"
        return f"[{spaces}][^{spaces}]*" if self.split else _WHOLE


@dataclass(eq=False)
class Sequence(Steps, PreTokenizer):
    """Runs steps one after the other."""

    pretokenizers: list[PreTokenizer]


CharDelimiterSplit, FixedLength, UnicodeScripts = not_taken("CharDelimiterSplit", "FixedLength", "UnicodeScripts")
