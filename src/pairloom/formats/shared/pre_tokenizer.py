"""The pre_tokenizer of a tokenizer.json: one pattern, or several that split one after the other.

Supported: ByteLevel, and before and after it Split, Digits and Punctuation where they keep the text.
`reference.pretokens` says how a pattern splits. Refused by name are other steps, behaviours that
remove text, and a space put before pieces inside of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pairloom import _core
from pairloom.errors import FormatError, PatternError
from pairloom.formats.shared.character_classes import DIGIT, PUNCTUATION
from pairloom.formats.shared.json_text import shown, take
from pairloom.model import Pattern
from pairloom.patterns import BYTE_LEVEL, GPT2, commented, uncommented

__all__ = ["read_splitters", "write_splitters"]

_MOST_NESTED = 8
# Published ones have up to 7 steps and 604 characters.
_MOST_STEPS, _MOST_CHARACTERS = 32, 4096
# A text as one pretoken.
_WHOLE = r"[\s\S]+"
_COMMENTS: Final = {
    "Isolated": "isolated",
    "Contiguous": "contiguous",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
}
_BEHAVIORS: Final = {comment: behavior for behavior, comment in _COMMENTS.items()}
# What is joined if what is not matched is joined to what is.
_INVERTED: Final = {"MergedWithPrevious": "MergedWithNext", "MergedWithNext": "MergedWithPrevious"}
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
            patterns += _step(step, where)
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
    try:
        written, can_be_empty = _core.write_oniguruma(regex)
    except PatternError as error:
        raise FormatError(str(error)) from None
    if comment is None and can_be_empty:
        raise FormatError(
            f"a tokenizer.json would cut where the pattern {shown(regex, 200)} matches nothing; save as 'pairloom', or"
            " write the pattern so that each match has a character"
        )
    behavior = "Isolated" if comment is None else _BEHAVIORS[comment]
    return {"type": "Split", "pattern": {"Regex": written}, "behavior": behavior, "invert": False}


def _step(step: dict[str, Any], where: str) -> list[str]:
    """The patterns of a step that is not ByteLevel."""
    kind = take(step, "type", str, where)
    if kind == "Split":
        return _split(step, where)
    if kind == "Digits":
        return [DIGIT if take(step, "individual_digits", bool, f"{where}: Digits") else DIGIT + "+"]
    if kind == "Punctuation":
        behavior = step.get("behavior", "Isolated")
        if behavior not in _COMMENTS:
            raise _removal(where, f"Punctuation with behavior {shown(behavior)}")
        return [PUNCTUATION if behavior == "Isolated" else commented(PUNCTUATION, _COMMENTS[behavior])]
    raise FormatError(
        f"{where}: the step {shown(kind)} is not taken, only ByteLevel, Split, Digits and Punctuation are"
    )


def _split(step: dict[str, Any], where: str) -> list[str]:
    pattern = take(step, "pattern", dict, f"{where}: Split")
    can_be_empty = is_total = False
    behavior = take(step, "behavior", str, f"{where}: Split")
    invert = take(step, "invert", bool, f"{where}: Split")
    if set(pattern) == {"String"}:
        text = re.escape(take(pattern, "String", str, f"{where}: Split"))
        can_be_empty = not text
    elif set(pattern) == {"Regex"}:
        try:
            text, can_be_empty = _core.read_oniguruma(take(pattern, "Regex", str, f"{where}: Split"))
            is_total = behavior == "Removed" and invert and _core.is_total(text)
        except PatternError as error:
            raise FormatError(f"{where}: {error}") from None
    else:
        raise FormatError(f"{where}: a Split's pattern has one of String and Regex, not {shown(pattern)}")
    if behavior == "Removed":
        if not is_total:
            raise _removal(where, f"a Split with behavior 'Removed' and invert {invert}")
        # Published files remove what does not match, where everything does.
        behavior = "Isolated"
    if _BARE_WORD.fullmatch(text):
        text = f"(?:{text})"
    if invert:
        behavior = _INVERTED.get(behavior, behavior)
    if behavior not in _COMMENTS:
        raise FormatError(f"{where}: a Split has no behavior {shown(behavior)}")
    plain = behavior == "Isolated" and not can_be_empty
    return [text if plain else commented(text, _COMMENTS[behavior])]


def _removal(where: str, what: str) -> FormatError:
    return FormatError(f"{where}: {what} leaves parts of the text out; ids could not be decoded to it")
