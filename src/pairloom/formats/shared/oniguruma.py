r"""Translates patterns between the dialects of fancy-regex (pairloom, tiktoken) and Oniguruma (HuggingFace tokenizers).

Three constructs that tokenizers use differ in Oniguruma's Ruby syntax: `{1,3}+` is possessive in fancy-regex and a
repeated group in Oniguruma; `$` is the end of the text there and the end of a line here; `^` likewise for the start.
`\w`, `\b` and `\h` are other classes, and `(?m)` there is `(?s)` here. `(?i)` inside of an alternative reaches over the
alternatives behind it there. `\X`, a grapheme cluster, only Oniguruma has. They are rewritten. Constructs that cannot
be rewritten are refused by name: what `case_folding` tells, `\K` inside of a lookbehind, where a match could begin
before the last one ends, and loops whose body may match nothing, where `empty_loops` cannot write them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal

from pairloom import _core
from pairloom.formats.shared.case_folding import (
    equal_to,
    ignoring_case,
    is_part_of_several,
    keeps_its_case,
    letter_ignoring_case,
)
from pairloom.formats.shared.character_classes import CLUSTER
from pairloom.formats.shared.empty_loops import without_empty_rounds
from pairloom.formats.shared.empty_matches import least_length
from pairloom.formats.shared.line_searches import skips_positions
from pairloom.formats.shared.regex_syntax import (
    GROUP,
    INTERVAL,
    NAMED_REFERENCE,
    POSIX,
    PROPERTY,
    REFERENCE,
    atom_end,
    escape_end,
    refusal,
)

__all__ = ["from_oniguruma", "to_oniguruma", "without_free_spacing"]

Direction = Literal["to", "from"]

_IGNORES_CASE: Final = re.compile(r"\(\?[ms]*i")
# Those that only Oniguruma has, or that are written out from it.
_THEIRS: Final = {
    r"\R": "(?>\\r\\n|[\\n-\\r\x85\u2028\u2029])",
    r"\O": r"[\s\S]",
    r"\N": r"[^\n]",
    r"\e": r"\x1B",
    r"\Z": r"(?=\n?\z)",
}
# What a word character is: measured over all of Unicode 16.0 in both engines, like the classes below.
_WORD: Final[dict[Direction, str]] = {
    "to": "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\u200c\u200d",
    "from": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼-¾",
}
_WORD_IN_CLASS: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
_POSIX_CLASSES: Final = {
    "alnum": r"\p{Alphabetic}\p{Nd}",
    "alpha": r"\p{Alphabetic}",
    "ascii": r"\x00-\x7F",
    "blank": r"\p{Zs}\t",
    "cntrl": r"\p{Cc}",
    "digit": r"\p{Nd}",
    "graph": r"[^\s\p{Cc}\p{Cs}\p{Cn}]",
    "lower": r"\p{Lowercase}",
    "print": r"[^\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]",
    "punct": r"\p{P}\p{S}",
    "space": r"\s",
    "upper": r"\p{Uppercase}",
    "word": _WORD_IN_CLASS,
    "xdigit": "0-9A-Fa-f",
}
# Of all names of properties that both engines know, only these stand for other characters (`\p{Punct}` is none of them:
# it is not what `[:punct:]` is).
_OTHER_PROPERTIES: Final = frozenset(("graph", "print", "word"))
_FLAGS: Final = re.compile(r"\(\?([imsx]+)([:)])")


def to_oniguruma(pattern: str) -> str:
    r"""The pattern for a tokenizer.json.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s++$")
    '(?>\\p{N}{1,3})|\\s++\\z'
    """
    return _checked(_respelt(pattern, "to"))


def from_oniguruma(pattern: str) -> str:
    r"""The pattern that a tokenizer.json holds.

    >>> from_oniguruma(r"\p{N}{1,3}+|\s+$")
    '(?:\\p{N}{1,3})+|\\s+(?=\\n|\\z)'
    """
    return _respelt(_checked(without_free_spacing(pattern)), "from")


def _checked(pattern: str) -> str:
    """A pattern of Oniguruma; FormatError where that does not look at every position."""
    if repetition := skips_positions(pattern):
        raise refusal(pattern, repetition)
    return pattern


def without_free_spacing(pattern: str) -> str:
    r"""The pattern of Oniguruma without the white space and the comments that `(?x)` allows.

    >>> without_free_spacing("(?x) a [ ] # a letter and a space\n | (?i: b \\ )")
    'a[ ]|(?i:b\\ )'
    """
    if not any("x" in flags for flags, _ in _FLAGS.findall(pattern)):
        return pattern
    parts: list[str] = []
    free = [False]
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if (flags := _FLAGS.match(pattern, at)) is not None:
            now = free[-1] or "x" in flags[1]
            if flags[2] == ":":
                free.append(now)
            else:
                free[-1] = now
            kept = flags[1].replace("x", "")
            if kept or flags[2] == ":":
                parts.append(f"(?{kept}{flags[2]}")
            at = flags.end()
        elif free[-1] and (character == "#" or (character.isspace() and character not in "\x1c\x1d\x1e\x1f")):
            end = pattern.find("\n", at) if character == "#" else at
            at = len(pattern) if end < 0 else end + 1
            behind = pattern[at : at + 1]
            # What stands apart must not become one: two quantifiers, a number and a digit, the parts of an interval.
            if _UNFINISHED.search("".join(parts[-12:])) and behind and (behind in "*+?{}," or behind.isalnum()):
                raise refusal(pattern, f"{''.join(parts[-1:])}{character}{behind}")
        else:
            if character == "(":
                free.append(free[-1])
            elif character == ")" and len(free) > 1:
                free.pop()
            end = atom_end(pattern, at)
            parts.append(pattern[at:end])
            at = end
    return "".join(parts)


_UNFINISHED: Final = re.compile(r"[*+?}]$|\\[ux1-9][0-9A-Fa-f{}]*$|\{[\d,]*$")


class _Group:
    """An open group, or the whole pattern."""

    def __init__(
        self, begin: int, number: int | None = None, *, ignores_case: bool = False, looks_behind: bool = False
    ) -> None:
        self.begin = begin  # the index of its first part
        self.number = number  # of a group that captures
        self.ignores_case = ignores_case
        self.looks_behind = looks_behind
        self.closing = ""  # closes what was opened for flags
        self.has_late_flags = False  # flags inside of an alternative


def _respelt(pattern: str, direction: Direction) -> str:
    return _Translation(pattern, direction).run()


class _Translation:
    """One pass over a pattern, from one engine to the other."""

    def __init__(self, pattern: str, direction: Direction) -> None:
        self.pattern = pattern
        self.direction: Direction = direction
        self.parts: list[str] = []
        self.groups = [_Group(0)]
        self.n_captures = 0
        self.closed: set[int] = set()  # the numbers of groups that may be referred to
        self.names: dict[str, list[int]] = {}
        self.literal = ""  # the characters before, where case is ignored
        self.atom = 0  # where in `parts` the last atom begins

    def run(self) -> str:
        pattern, at = self.pattern, 0
        while at < len(pattern):
            character = pattern[at]
            if self.direction == "to" and (cluster := _CLUSTER_TEXT.match(pattern, at)) is not None:
                self.atom = len(self.parts)
                self.literal = ""
                self.parts.append(r"\X")
                at = cluster.end()
            elif character == "(":
                at = self._open(at)
            elif character == ")":
                self._close()
                at += 1
            elif character in "*+?" or (character == "{" and INTERVAL.match(pattern, at)):
                at = self._repeat(at)
            else:
                self.atom = len(self.parts)
                end = atom_end(pattern, at)
                atom = pattern[at:end]
                if atom == r"\K":
                    self._check_keep(end)
                respelt = self._atom(atom)
                if self.groups[-1].ignores_case:
                    respelt = self._ignoring_case(atom, respelt, end)
                else:
                    self.literal = ""
                if respelt[:1] == "\\" and respelt[-1:].isdigit() and pattern[end : end + 1].isdigit():
                    respelt = f"(?:{respelt})"
                self.parts.append(respelt)
                at = end
        return "".join(self.parts) + self.groups[0].closing

    def _open(self, at: int) -> int:
        """A group, or flags; gives where its text ends."""
        found = GROUP.match(self.pattern, at)
        if found is None:
            raise refusal(self.pattern, self.pattern[at : at + 4])
        text = found[0]
        # Whether "." is a newline too is "m" there and "s" here.
        theirs, ours = ("s", "m") if self.direction == "to" else ("m", "s")
        if ours in text.partition("<")[0]:
            raise refusal(self.pattern, text)
        # What refers to a name is respelt as a number.
        name = text[3:-1] if text.startswith("(?<") and text.endswith(">") else None
        respelt = "(" if name else text.replace(theirs, ours)
        if text.endswith(")"):
            respelt = self._flags(respelt, self.pattern[found.end() : found.end() + 1])
            self.groups[-1].ignores_case |= "i" in text
        else:
            self.n_captures += respelt == "("
            number = self.n_captures if respelt == "(" else None
            if name:
                self.names.setdefault(name, []).append(self.n_captures)
            ignores_case = self.groups[-1].ignores_case or ("i" in text and name is None)
            looks_behind = self.groups[-1].looks_behind or text in ("(?<=", "(?<!")
            self.groups.append(
                _Group(
                    len(self.parts),
                    number,
                    ignores_case=ignores_case and text != "(?-i:",
                    looks_behind=looks_behind,
                )
            )
        self.parts.append(respelt)
        return found.end()

    def _flags(self, text: str, behind: str) -> str:
        """`(?i)`. Inside of an alternative it is for the rest of the group there, the alternatives behind it in one
        with what stands before it; here it is for what stands behind it in this one and in each of the others, and
        behind the group as well.
        """
        group = self.groups[-1]
        is_inside = len(self.groups) > 1
        if self.direction == "to" and behind in ("", ")", "|"):
            raise refusal(self.pattern, text)
        if behind in ("", ")"):
            return "(?:)"
        if not is_inside and (not self.parts or self.parts[-1] == "|") and behind != "|":
            return text
        group.has_late_flags = True
        if self.direction == "to":
            if is_inside:
                raise refusal(self.pattern, text)
            return text
        group.closing += ")"
        return f"{text[:-1]}:"

    def _close(self) -> None:
        group = self.groups[-1]
        self.parts.append(f"{group.closing})")
        if len(self.groups) > 1:
            self.groups.pop()
            self.atom = group.begin
            if group.number is not None:
                self.closed.add(group.number)

    def _check_keep(self, end: int) -> None:
        r"""Refuses `\K` in a lookbehind, unless it ends it: a match could begin before the one before ends."""
        if not self.groups[-1].looks_behind:
            return
        outside = 0
        while end < len(self.pattern) and self.pattern[end] == ")":
            end += 1
            outside += 1
            if not self.groups[-1 - outside].looks_behind:
                return
        raise refusal(self.pattern, r"\K")

    def _repeat(self, at: int) -> int:
        """The quantifier at `at`; gives where it ends. Refuses what the two engines repeat in other ways."""
        pattern = self.pattern
        found = INTERVAL.match(pattern, at)
        end = found.end() if found else at + 1
        most = (found[3] if found[2] else found[1]) if found else {"?": "1"}.get(pattern[at], "")
        repeated = "".join(self.parts[self.atom :])
        may_be_nothing = most not in ("0", "1") and repeated.startswith("(") and least_length(repeated) == 0
        after = _quantifier(pattern, at, self.parts, self.atom, self.direction)
        if may_be_nothing:
            loop = "".join(self.parts[self.atom :])
            # What a group holds that is referred to depends on its last round.
            is_kept = _REFERENCES.search(pattern) is not None and _CAPTURES.search(loop) is not None
            respelt = None if self.direction == "to" or is_kept else without_empty_rounds(loop)
            if respelt is None:
                raise refusal(pattern, f"{repeated[:40]}{pattern[at:end]}")
            self.parts[self.atom :] = [respelt]
        return after

    def _ignoring_case(self, atom: str, respelt: str, end: int) -> str:
        """The atom that ends at `end` where case is ignored. Refuses what cannot be written in the other engine."""
        code = re.fullmatch(r"\\[xu]\{?([0-9A-Fa-f]+)\}?", atom)
        before = self.literal
        if code or (len(atom.lstrip("\\")) == 1 and (not atom[-1].isalnum() or len(atom) == 1) and atom not in ".|^$"):
            letter = chr(int(code[1], 16)) if code else atom[-1]
            # What is repeated there is no part of the text before it.
            is_repeated = self.pattern[end : end + 1] in ("*", "+", "?") or INTERVAL.match(self.pattern, end)
            self.literal = letter if is_repeated else before + letter
        else:
            self.literal = letter = ""
        if self.direction == "to":
            found = PROPERTY.fullmatch(atom)
            if (found and not keeps_its_case(found[2])) or (atom.startswith("[") and atom != ignoring_case(atom)):
                raise refusal(self.pattern, f"(?i){atom}")
        elif _keeps_its_case_there(atom):
            return f"(?-i:{respelt})"
        elif atom.startswith("["):
            return ignoring_case(respelt)
        elif self.groups[-1].looks_behind:
            # Behind, a letter is equal to one, not to several.
            self.literal = ""
            return respelt
        elif letter and (text := letter_ignoring_case(letter)):
            self.literal = ""
            return text
        if not is_part_of_several(self.literal):
            return respelt
        # Two letters in a row that are equal to one, and to no part of more.
        several, self.literal = self.literal[-2:], ""
        if self.direction == "to" or not (letters := equal_to(several)) or self.parts[-1:] != [several[0]]:
            raise refusal(self.pattern, f"(?i){several}")
        if is_part_of_several(before[-2:]) or _is_literal(self.pattern[end : end + 2]):
            raise refusal(self.pattern, f"(?i){several}")
        self.parts.pop()
        return f"(?:{several}|[{letters}])"

    def _reference(self, text: str) -> str:
        r"""`\1` for a reference to a group by its name, or by how far it lies behind."""
        found = NAMED_REFERENCE.fullmatch(text)
        if not found:
            if not REFERENCE.fullmatch(text):
                return text
            numbers = [] if self.names else [int(text[1:])]
        else:
            name = found[1] or found[2]
            numbers = self.names.get(name, [])
            if not self.names and name.lstrip("-").isdecimal():
                numbers = [int(name) + (self.n_captures + 1 if name[0] == "-" else 0)]
        # A group that is open or comes later, and letters of either case, differ between the engines.
        if (
            not numbers
            or not self.closed.issuperset(numbers)
            or max(numbers) > 9
            or _IGNORES_CASE.search(self.pattern)
            or self._is_repeated_name(text, numbers)
        ):
            raise refusal(self.pattern, text)
        references = [f"\\{number}" for number in reversed(numbers)]
        # The last group of a name that captured what stands there.
        return references[0] if len(references) == 1 else f"(?>{'|'.join(references)})"

    def _is_repeated_name(self, text: str, numbers: list[int]) -> bool:
        """Whether a name that is referred to is also that of a group which is not closed yet."""
        name = text[3:-1]
        return bool(NAMED_REFERENCE.fullmatch(text)) and self.pattern.count(f"(?<{name}>") > len(numbers)

    def _atom(self, text: str) -> str:
        if text.startswith("["):
            return _respelt_class(text, self.direction)
        text = self._reference(text)
        if self.direction == "to":
            if text in (r"\h", r"\H", r"\X") or text in _THEIRS:
                raise refusal(self.pattern, text)
            if text == "|" and self.groups[-1].has_late_flags:
                raise refusal(self.pattern, "(?i)...|")
        text = _respelt_property(self.pattern, text, self.direction)
        return _ATOMS[self.direction].get(text, text)


def _keeps_its_case_there(atom: str) -> bool:
    r"""Whether Oniguruma ignores that case is to be ignored: in a class by a property, unless in brackets."""
    found = PROPERTY.fullmatch(atom)
    return atom == r"\X" or (found is not None and not keeps_its_case(found[2]))


def _is_literal(behind: str) -> bool:
    """Whether a pattern goes on with a character, which may be part of several letters that are equal to one."""
    return behind[:1] not in ("", "|", ")", "[", ".", "^", "$") and behind not in _NO_LITERALS


_NO_LITERALS: Final = frozenset(f"\\{letter}" for letter in "wWdDsSpPbBAzZGKRXNOhH")
_REFERENCES: Final = re.compile(r"\\[1-9k]")
_CAPTURES: Final = re.compile(r"(?<!\\)\((?!\?)")
_CLUSTER_TEXT: Final = re.compile(f"{re.escape(f'(?-i:{CLUSTER})')}|{re.escape(CLUSTER)}")
_QUANTIFIERS: Final = ("*", "+", "?", "{")
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
        r"\X": CLUSTER,
        r"\h": f"[{_HEX}]",
        r"\H": f"[^{_HEX}]",
        **_atoms("from"),
    },
}


def _respelt_property(pattern: str, atom: str, direction: Direction, *, in_class: bool = False) -> str:
    r"""A class by a property, where its name stands for other characters in the other engine.

    >>> _respelt_property("", r"\p{^Graph}", "from")
    '[^[^\\s\\p{Cc}\\p{Cs}\\p{Cn}]]'
    """
    found = PROPERTY.fullmatch(atom)
    name = re.sub(r"[_ ]", "", found[2]).lower() if found else ""
    if "=" in name:
        raise refusal(pattern, atom)
    if not found or name not in _OTHER_PROPERTIES:
        return atom
    members = _POSIX_CLASSES[name] if in_class or name != "word" else _WORD["from"]
    if direction == "to":
        raise refusal(pattern, atom)
    return f"[{'^' if (atom[1] == 'P') != bool(found[1]) else ''}{members}]"


_FROM_NUL: Final = re.compile(r"(?:\0|\\x00|\\u0000|\\x\{0+\})-")


@cache
def _not_ascii() -> str:
    """Characters that are not of ASCII, each twice: all below U+3100 and a sample of the others."""
    codes = (*range(0x80, 0x3100), *range(0x3100, 0xD800, 97), *range(0xE000, 0x110000, 97))
    return "".join(2 * chr(code) for code in codes)


def _check_complement(text: str, ours: str) -> None:
    """Refuses a class where Oniguruma errs in the complement of a class in it: of a range from U+0000 on, and of one
    that leaves nothing but ASCII.
    """
    if "[^" not in text[1:]:
        return
    if _FROM_NUL.search(text) is not None:
        raise refusal(text, text)
    # Two matches are two pretokens, and what does not match is one.
    if text.startswith("[^") and len(_core.pretokenize(_not_ascii(), ours)) == len(_not_ascii()):
        raise refusal(text, text)


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
        end = escape_end(text, at) if text[at] == "\\" else at + 1
        if (posix := POSIX.match(text, at)) is not None:
            if direction == "to":
                raise refusal(text, posix[0])
            members = _POSIX_CLASSES[posix[2]]
            parts.append(f"[^{members}]" if posix[1] else members)
            at = posix.end()
            continue
        if (
            text[at:end] in (r"\b", r"\B")
            or text[at:end] in _THEIRS
            or (direction == "to" and text[at:end] in (r"\h", r"\H"))
        ):
            raise refusal(text, text[at:end])
        respelt = _respelt_property(text, text[at:end], direction, in_class=True)
        parts.append(inside.get(respelt, respelt))
        at = end
    found = "".join(parts)
    _check_complement(text, found if direction == "from" else text)
    return found


def _quantifier(pattern: str, at: int, parts: list[str], atom: int, direction: Direction) -> int:
    """Appends the quantifier at `at`, respelling the parts from `atom` on where it must."""
    found = INTERVAL.match(pattern, at)
    end = found.end() if found else at + 1
    quantifier = pattern[at:end]
    suffix = pattern[end : end + 1]
    if found and suffix == "?" and not found[2]:
        # `a{2}?` is lazy here, which changes nothing, and `(?:a{2})?` there.
        if direction == "from":
            parts[atom:] = [f"(?:{''.join(parts[atom:])}{quantifier})"]
            return end
        if pattern[end + 1 : end + 2] in _QUANTIFIERS:
            raise refusal(pattern, quantifier + suffix)
        parts.append(quantifier)
        return end + 1
    if found and suffix == "+":
        repeated = "".join(parts[atom:]) + quantifier
        parts[atom:] = [f"(?>{repeated})" if direction == "to" else f"(?:{repeated})+"]
        return end + 1
    if suffix and suffix in "?+":
        quantifier += suffix
        end += 1
    parts.append(quantifier)
    return end
