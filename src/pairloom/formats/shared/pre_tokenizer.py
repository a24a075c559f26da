"""The pre_tokenizer of a tokenizer.json: one pattern, or several that split one after the other.

Supported: ByteLevel anywhere in a Sequence; before and behind it Split, Digits, Punctuation and FixedLength where they
keep the text; behind it also what splits at white space, which the byte alphabet does not have. `reference.pretokens`
says how a pattern splits. What loses text is refused by name: behaviours that remove it, UnicodeScripts (spaces at the
beginning), and a space put before pieces inside of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from pairloom.errors import FormatError, PatternError
from pairloom.formats.shared.byte_alphabet import ALPHABET
from pairloom.formats.shared.character_classes import DIGIT, LETTERS, PUNCTUATION, WORDS
from pairloom.formats.shared.empty_matches import can_match_nothing
from pairloom.formats.shared.json_text import shown, take, take_id
from pairloom.formats.shared.oniguruma import from_oniguruma, to_oniguruma
from pairloom.formats.shared.pattern_aliases import published_of
from pairloom.formats.shared.removals import removes_nothing
from pairloom.model import Pattern
from pairloom.patterns import BYTE_LEVEL, GPT2, PATTERNS, commented, uncommented

__all__ = ["read_splitters", "write_splitters"]

_MOST_NESTED = 8
# Published ones have up to 7 steps and 604 characters. Translating a class under (?i) takes some milliseconds.
_MOST_STEPS, _MOST_CHARACTERS = 32, 4096
# A text as one pretoken.
_WHOLE = r"[\s\S]+"
_NAMED = frozenset(text for text in PATTERNS.values() if isinstance(text, str))
# `$` is the end of a line there and of the text here. After `\s++`, which takes all newlines, the two are one.
_SAME_IN_BOTH = frozenset((published_of(GPT2),))
_COMMENTS: Final = {
    "Isolated": "isolated",
    "Contiguous": "contiguous",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
}
_BEHAVIORS: Final = {comment: behavior for behavior, comment in _COMMENTS.items()}
# What is joined if what is not matched is joined to what is.
_INVERTED: Final = {"MergedWithPrevious": "MergedWithNext", "MergedWithNext": "MergedWithPrevious"}
_LETTERS: Final = frozenset(ALPHABET)
# What would be taken for the name of a pattern.
_BARE_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]+")
_BYTE_LEVEL: Final = {"type": "ByteLevel", "trim_offsets": True}
# Written so, since HuggingFace's tables are of other Unicode versions.
_STEPS: Final[dict[str, dict[str, Any]]] = {
    DIGIT: {"type": "Digits", "individual_digits": True},
    DIGIT + "+": {"type": "Digits", "individual_digits": False},
    PUNCTUATION: {"type": "Punctuation", "behavior": "Isolated"},
    **{
        commented(PUNCTUATION, comment): {"type": "Punctuation", "behavior": behavior}
        for behavior, comment in _COMMENTS.items()
        if behavior != "Isolated"
    },
}


def read_splitters(node: Any, name: str) -> tuple[Pattern, bool]:
    """The pattern of a pre_tokenizer, and whether a space is put before the text (add_prefix_space).

    Raises FormatError for what a pattern cannot express.
    """
    where = f"{name}: pre_tokenizer"
    patterns: list[str] = []
    prefix = False
    n_characters = 0
    for n_steps, step in enumerate(_flat(node, where), start=1):
        if isinstance(written := step.get("pattern"), dict):
            n_characters += sum(len(text) for text in written.values() if isinstance(text, str))
        if n_steps > _MOST_STEPS or n_characters > _MOST_CHARACTERS:
            raise FormatError(
                f"{where} has more than {_MOST_STEPS} steps, or patterns of more than {_MOST_CHARACTERS} characters"
                " together, which are not read; make it shorter"
            )
        if take(step, "type", str, where) != "ByteLevel":
            patterns += (_behind if BYTE_LEVEL in patterns else _before)(step, patterns, where)
            continue
        if BYTE_LEVEL in patterns:
            raise FormatError(f"{where}: a second ByteLevel writes the bytes of the first one's letters; leave it out")
        prefix = _flag(step, "add_prefix_space", where)
        if prefix and patterns:
            raise FormatError(
                f"{where}: ByteLevel puts a space before every piece that another step has split off"
                " (add_prefix_space), which cannot be expressed"
            )
        if _flag(step, "use_regex", where):
            patterns.append(GPT2)
        patterns.append(BYTE_LEVEL)
    if BYTE_LEVEL not in patterns:
        raise FormatError(f"{where} has no ByteLevel; only byte-level tokenizers can be expressed")
    if patterns[-1] == BYTE_LEVEL:
        patterns.pop()
    if not patterns:
        patterns.append(_WHOLE)
    return patterns[0] if len(patterns) == 1 else tuple(patterns), prefix


def write_splitters(pattern: Pattern, prefix: bool) -> dict[str, Any]:
    """The pre_tokenizer of a pattern; FormatError where it cannot put a space before the text as well."""
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    at = patterns.index(BYTE_LEVEL) if BYTE_LEVEL in patterns else len(patterns)
    before, behind = patterns[:at], patterns[at + 1 :]
    use_regex = bool(before) and before[-1] == GPT2
    if use_regex or before == [_WHOLE]:
        before.pop()
    if prefix and before:
        raise FormatError(
            "a tokenizer.json cannot put a space before a text that is split by another pattern than GPT-2's; save as"
            " 'pairloom'"
        )
    byte_level = {**_BYTE_LEVEL, "add_prefix_space": prefix, "use_regex": use_regex}
    steps = [*map(_written, before), byte_level, *map(_written, behind)]
    return {"type": "Sequence", "pretokenizers": steps} if len(steps) > 1 else byte_level


def _flag(step: dict[str, Any], name: str, where: str) -> bool:
    """A setting of ByteLevel, true where it is missing."""
    return name not in step or take(step, name, bool, f"{where}: ByteLevel")


def _flat(node: Any, where: str, depth: int = 0) -> Iterator[dict[str, Any]]:
    if node is None:
        return
    if depth > _MOST_NESTED:
        raise FormatError(f"{where} is nested too deeply: more than {_MOST_NESTED} sequences lie in each other")
    if type(node) is not dict:
        raise FormatError(f"{where} must be an object, not {shown(node)}")
    if node.get("type") == "Sequence":
        for part in take(node, "pretokenizers", list, where):
            yield from _flat(part, where, depth + 1)
    else:
        yield node


def _written(text: str) -> dict[str, Any]:
    """The step of a tokenizer.json that splits as the pattern does."""
    if text in _STEPS:
        return _STEPS[text]
    comment, regex = uncommented(text)
    if text == BYTE_LEVEL:
        raise FormatError("a tokenizer.json cannot turn letters of the byte alphabet into letters again")
    if comment is None and can_match_nothing(regex):
        raise FormatError(
            f"a tokenizer.json would cut where the pattern {shown(regex, 200)} matches nothing; save as 'pairloom', or"
            " write the pattern so that each match has a character"
        )
    behavior = "Isolated" if comment is None else _BEHAVIORS[comment]
    written = regex if regex in _SAME_IN_BOTH else to_oniguruma(regex)
    return {"type": "Split", "pattern": {"Regex": written}, "behavior": behavior, "invert": False}


@cache
def _as_named() -> dict[str, str]:
    """The named patterns by the spelling that `write_splitters` gives them."""
    return {to_oniguruma(text): text for text in _NAMED}


def _read(written: str, where: str) -> str:
    if written in _SAME_IN_BOTH:
        return written
    if (named := _as_named().get(written)) is not None:
        return named
    try:
        return from_oniguruma(written)
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None


def _before(step: dict[str, Any], before: list[str], where: str) -> list[str]:
    """The patterns of a step that is not ByteLevel, with those of the steps before it."""
    kind = take(step, "type", str, where)
    if kind == "Split":
        return _split(step, before, where)
    if kind == "Digits":
        return [DIGIT if take(step, "individual_digits", bool, f"{where}: Digits") else DIGIT + "+"]
    if kind == "Punctuation":
        behavior = step.get("behavior", "Isolated")
        if behavior not in _COMMENTS:
            raise _removal(where, f"Punctuation with behavior {shown(behavior)}")
        return [PUNCTUATION if behavior == "Isolated" else commented(PUNCTUATION, _COMMENTS[behavior])]
    if kind == "FixedLength":
        length = take_id(take(step, "length", int, f"{where}: FixedLength"), f"{where}: FixedLength: length")
        return [rf"[\s\S]{{1,{max(length, 1)}}}"]
    if kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "CharDelimiterSplit", "UnicodeScripts"):
        raise _removal(where, kind)
    raise FormatError(f"{where}: {shown(kind)} cannot be expressed as a pattern")


def _behind(step: dict[str, Any], before: list[str], where: str) -> list[str]:
    """The patterns of a step behind ByteLevel, which sees no white space."""
    kind = take(step, "type", str, where)
    if kind == "Whitespace":
        return [WORDS]
    if kind == "WhitespaceSplit":
        return []
    if kind == "BertPreTokenizer":
        return [PUNCTUATION]
    if kind == "UnicodeScripts":
        return [LETTERS]
    if kind == "CharDelimiterSplit" and step.get("delimiter") not in _LETTERS:
        return []
    if kind == "Metaspace" and step.get("prepend_scheme") == "never" and step.get("replacement") not in _LETTERS:
        return []
    return _before(step, before, where)


def _split(step: dict[str, Any], before: list[str], where: str) -> list[str]:
    pattern = take(step, "pattern", dict, f"{where}: Split")
    literal: str | None = None
    if set(pattern) == {"String"}:
        literal = take(pattern, "String", str, f"{where}: Split")
        text = re.escape(literal)
    elif set(pattern) == {"Regex"}:
        text = _read(take(pattern, "Regex", str, f"{where}: Split"), where)
    else:
        raise FormatError(f"{where}: a Split's pattern has one of String and Regex, not {shown(pattern)}")
    if _BARE_WORD.fullmatch(text):
        text = f"(?:{text})"
    behavior = take(step, "behavior", str, f"{where}: Split")
    invert = take(step, "invert", bool, f"{where}: Split")
    if behavior == "Removed":
        try:
            is_kept = removes_nothing(text, before, literal=literal, invert=invert)
        except PatternError as error:
            raise FormatError(f"{where}: {error}") from None
        if not is_kept:
            raise _removal(where, f"a Split with behavior 'Removed' and invert {invert}")
        behavior = "Isolated"
    if not text:
        return []  # An empty String is found nowhere there.
    if invert:
        behavior = _INVERTED.get(behavior, behavior)
    if behavior not in _COMMENTS:
        raise FormatError(f"{where}: a Split has no behavior {shown(behavior)}")
    plain = behavior == "Isolated" and not can_match_nothing(text)
    return [text if plain else commented(text, _COMMENTS[behavior])]


def _removal(where: str, what: str) -> FormatError:
    return FormatError(f"{where}: {what} leaves parts of the text out; ids could not be decoded to it")
