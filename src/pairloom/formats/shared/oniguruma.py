r"""Translates patterns between the dialects of fancy-regex (pairloom, tiktoken) and Oniguruma (HuggingFace tokenizers).

Three constructs that tokenizers use differ in Oniguruma's Ruby syntax: `{1,3}+` is possessive in fancy-regex and a
repeated group in Oniguruma; `$` is the end of the text there and the end of a line here; `^` likewise for the start.
`\w`, `\b` and `\h` are other classes, and `(?m)` there is `(?s)` here. They are rewritten. Constructs that cannot be
rewritten are refused by name.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import shown

__all__ = ["can_match_nothing", "from_oniguruma", "never_consumes", "to_oniguruma"]

Direction = Literal["to", "from"]

_GROUP: Final = re.compile(r"\((?:\?(?:[:=!>]|<[=!]|<[A-Za-z_]\w*>|[ims]+:|[ims]+\))|(?!\?))")
_PROPERTY: Final = re.compile(r"\\[pP]\{\^?[A-Za-z_ ]+\}")
_CODE_POINT: Final = re.compile(r"\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}")
_INTERVAL: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
# Escapes that mean the same: assertions and classes by Unicode's properties, and control characters.
_SAME: Final = frozenset("dDsSAzntrfva")
# Those that are rewritten.
_OTHER: Final = frozenset("wWbBhH")
# Those that only Oniguruma has, or that are written out from it.
_THEIRS: Final = {r"\R": "(?>\\r\\n|[\\n-\\r\x85\u2028\u2029])", r"\O": r"[\s\S]", r"\N": r"[^\n]", r"\e": r"\x1B"}
_POSIX: Final = re.compile(r"\[:(\^?)(alnum|alpha|digit|lower|space|upper|xdigit):\]")
_POSIX_CLASSES: Final = {
    "alnum": r"\p{Alphabetic}\p{Nd}",
    "alpha": r"\p{Alphabetic}",
    "digit": r"\p{Nd}",
    "lower": r"\p{Lowercase}",
    "space": r"\s",
    "upper": r"\p{Uppercase}",
    "xdigit": "0-9A-Fa-f",
}


def to_oniguruma(pattern: str) -> str:
    r"""The pattern for a tokenizer.json.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s++$")
    '(?>\\p{N}{1,3})|\\s++\\z'
    """
    return _respelt(pattern, "to")


def from_oniguruma(pattern: str) -> str:
    r"""The pattern that a tokenizer.json holds.

    >>> from_oniguruma(r"\p{N}{1,3}+|\s+$")
    '(?:\\p{N}{1,3})+|\\s+(?=\\n|\\z)'
    """
    return _respelt(pattern, "from")


def can_match_nothing(pattern: str) -> bool:
    r"""Whether a pattern may match an empty text; True for some that cannot, such as `(?=a)a?(?<=a)`.

    >>> [can_match_nothing(pattern) for pattern in (r"a|b+", r"a*", r"(?:a|(?=b))", r"[ab]{0,2}c")]
    [False, True, True, False]
    """
    # Of each open group: whether it is an assertion, an alternative before could be empty, and this one could so far.
    levels: list[tuple[bool, bool, bool]] = [(False, False, True)]
    at = 0
    last_is_empty = True
    before = True
    while at < len(pattern):
        character = pattern[at]
        interval = _INTERVAL.match(pattern, at) if character == "{" else None
        if character in "*?" or (interval and int(interval[1]) == 0):
            # The atom may be left out: the sequence is as empty as it was before it.
            if at and pattern[at - 1] not in "*+?":
                assertion, earlier, _ = levels[-1]
                levels[-1] = (assertion, earlier, before)
            at = interval.end() if interval else at + 1
            continue
        if character == "+" or interval:
            at = interval.end() if interval else at + 1
            continue
        if character == "(":
            found = _GROUP.match(pattern, at)
            text = found[0] if found else "("
            at += len(text)
            if not text.endswith(")"):
                levels.append((text[2:3] in ("=", "!") or text[:3] == "(?<", False, True))
            continue
        assertion, earlier, current = levels[-1]
        if character == "|":
            levels[-1] = (assertion, earlier or current, True)
            at += 1
            continue
        if character == ")" and len(levels) > 1:
            levels.pop()
            last_is_empty = assertion or earlier or current
            at += 1
        else:
            end = _atom_end(pattern, at)
            last_is_empty = pattern[at:end] in _EMPTY
            at = end
        assertion, earlier, before = levels[-1]
        levels[-1] = (assertion, earlier, before and last_is_empty)
    return any(earlier or current for _, earlier, current in levels)


_EMPTY: Final = frozenset(("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B"))


def never_consumes(pattern: str) -> bool:
    r"""Whether a pattern matches only nothing: all of it is assertions. False for some such patterns.

    >>> [never_consumes(pattern) for pattern in (r"(?=[A-Z])|\b", r"(?<=a)(?=\d{3}$)", r"(?=a)a", "a*")]
    [True, True, False, False]
    """
    depth = at = 0  # depth counts groups from the outermost assertion on
    while at < len(pattern):
        character = pattern[at]
        if character == "(":
            text = found[0] if (found := _GROUP.match(pattern, at)) else "("
            is_assertion = text[2:3] in ("=", "!") or text[:3] == "(?<"
            depth += not text.endswith(")") and (depth > 0 or is_assertion)
            at += len(text)
        elif character == ")":
            depth -= depth > 0
            at += 1
        else:
            end = _atom_end(pattern, at)
            if depth == 0 and pattern[at:end] not in _EMPTY and character != "|":
                return False
            at = end
    return True


def _respelt(pattern: str, direction: Direction) -> str:
    parts: list[str] = []
    open_groups: list[int] = []
    atom = 0  # where in `parts` the last atom begins
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "(":
            found = _GROUP.match(pattern, at)
            if found is None:
                raise _refusal(pattern, pattern[at : at + 4])
            if not found[0].endswith(")"):
                open_groups.append(len(parts))
            # Whether "." is a newline too is "m" there and "s" here.
            theirs, ours = ("s", "m") if direction == "to" else ("m", "s")
            if ours in found[0].partition("<")[0]:
                raise _refusal(pattern, found[0])
            # Nothing refers to a group here, so that its name says nothing.
            named = found[0].startswith("(?<") and found[0].endswith(">")
            parts.append("(" if named else found[0].replace(theirs, ours))
            at = found.end()
        elif character == ")":
            atom = open_groups.pop() if open_groups else 0
            parts.append(character)
            at += 1
        elif character in "*+?" or (character == "{" and _INTERVAL.match(pattern, at)):
            at = _quantifier(pattern, at, parts, atom, direction)
        else:
            atom = len(parts)
            end = _atom_end(pattern, at)
            found_atom = pattern[at:end]
            if found_atom.startswith("["):
                parts.append(_respelt_class(found_atom, direction))
            else:
                if direction == "to" and (found_atom in (r"\h", r"\H") or found_atom in _THEIRS):
                    raise _refusal(pattern, found_atom)
                parts.append(_ATOMS[direction].get(found_atom, found_atom))
            at = end
    return "".join(parts)


# What a word character is: measured over all of Unicode 16.0 in both engines.
_WORD: Final[dict[Direction, str]] = {
    "to": "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\u200c\u200d",
    "from": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼-¾",
}
_WORD_IN_CLASS: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
_HEX: Final = "0-9A-Fa-f"


def _atoms(direction: Direction) -> dict[str, str]:
    word = f"[{_WORD[direction]}]"
    return {
        r"\w": word,
        r"\W": f"[^{_WORD[direction]}]",
        r"\b": f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))",
        r"\B": f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))",
    }


# `^` is there the start of each line, but of none behind the last newline. `\h` is white space to one engine and a
# digit of base 16 to the other.
_ATOMS: Final[dict[Direction, dict[str, str]]] = {
    "to": {"$": r"\z", "^": r"\A", **_atoms("to")},
    "from": {
        "$": r"(?=\n|\z)",
        "^": r"(?:\A|(?<=\n)(?!\z))",
        **_THEIRS,
        r"\h": f"[{_HEX}]",
        r"\H": f"[^{_HEX}]",
        **_atoms("from"),
    },
}


def _respelt_class(text: str, direction: Direction) -> str:
    """A class whose escapes mean in the other engine what they mean in this one."""
    # There the superscripts and fractions of Latin-1 are word characters only outside of classes.
    word = _WORD["to"] if direction == "to" else _WORD_IN_CLASS
    inside = {r"\w": word, r"\W": f"[^{word}]"}
    if direction == "from":
        inside |= {r"\h": _HEX, r"\H": f"[^{_HEX}]"}
    parts: list[str] = []
    at = 0
    while at < len(text):
        end = _escape_end(text, at) if text[at] == "\\" else at + 1
        if (posix := _POSIX.match(text, at)) is not None:
            if direction == "to":
                raise _refusal(text, posix[0])
            members = _POSIX_CLASSES[posix[2]]
            parts.append(f"[^{members}]" if posix[1] else members)
            at = posix.end()
            continue
        if (
            text[at:end] in (r"\b", r"\B")
            or text[at:end] in _THEIRS
            or (direction == "to" and text[at:end] in (r"\h", r"\H"))
        ):
            raise _refusal(text, text[at:end])
        parts.append(inside.get(text[at:end], text[at:end]))
        at = end
    return "".join(parts)


def _atom_end(pattern: str, at: int) -> int:
    """Where the escape, class or character at `at` ends."""
    character = pattern[at]
    if character == "\\":
        return _escape_end(pattern, at)
    if character == "[":
        return _class_end(pattern, at)
    return at + 1


def _escape_end(pattern: str, at: int) -> int:
    for form in (_PROPERTY, _CODE_POINT):
        if found := form.match(pattern, at):
            return found.end()
    letter = pattern[at + 1 : at + 2]
    if not letter or (letter.isalnum() and letter not in _SAME and letter not in _OTHER and letter not in "RONe"):
        raise _refusal(pattern, pattern[at : at + 2])
    return at + 2


def _class_end(pattern: str, at: int) -> int:
    depth = 0
    start = at
    while at < len(pattern):
        if pattern[at] == "\\":
            at = _escape_end(pattern, at)
            continue
        if (posix := _POSIX.match(pattern, at)) is not None:
            at = posix.end()
            continue
        for operator in ("[:", "--", "~~"):
            if pattern.startswith(operator, at):
                raise _refusal(pattern, operator)
        if pattern[at] == "[":
            depth += 1
        elif pattern[at] == "]":
            depth -= 1
        at += 1
        if depth == 0:
            return at
    raise _refusal(pattern, pattern[start : start + 4])


def _quantifier(pattern: str, at: int, parts: list[str], atom: int, direction: Direction) -> int:
    """Appends the quantifier at `at`, respelling the parts from `atom` on where it must."""
    found = _INTERVAL.match(pattern, at)
    end = found.end() if found else at + 1
    quantifier = pattern[at:end]
    suffix = pattern[end : end + 1]
    if found and suffix == "?" and not found[2]:
        raise _refusal(pattern, quantifier + suffix)
    if found and suffix == "+":
        repeated = "".join(parts[atom:]) + quantifier
        parts[atom:] = [f"(?>{repeated})" if direction == "to" else f"(?:{repeated})+"]
        return end + 1
    if suffix and suffix in "?+":
        quantifier += suffix
        end += 1
    parts.append(quantifier)
    return end


def _refusal(pattern: str, construct: str) -> FormatError:
    return FormatError(
        f"pattern {shown(pattern, 200)} uses {construct!r}, which means other things to pairloom and to HuggingFace's"
        " tokenizers; write it another way, or save as 'pairloom'"
    )
