"""Whether a Split whose matches are removed ever removes anything: published files have such steps that do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from pairloom import _core
from pairloom.formats.shared.byte_alphabet import ALPHABET
from pairloom.formats.shared.character_classes import CLUSTER
from pairloom.formats.shared.empty_matches import least_length, never_consumes
from pairloom.formats.shared.regex_syntax import INTERVAL, atom_end
from pairloom.patterns import BYTE_LEVEL, GPT2, uncommented

__all__ = ["removes_nothing"]

# The characters that no letter of the byte alphabet is.
_NO_LETTER: Final = "[^!-~\u00a1-\u00ac\u00ae-\u0143]"
_EACH_LETTER_TWICE: Final = "".join(2 * letter for letter in ALPHABET)


def removes_nothing(pattern: str, before: Sequence[str], *, literal: str | None, invert: bool) -> bool:
    """Whether no text has anything that the Split removes; False for some such Splits.

    before: the patterns of the steps in front of it. literal: the text that is looked for, where it is no regex.
    invert: what does not match is removed. Raises PatternError for a pattern that does not compile.
    """
    near = list(before)
    in_letters = BYTE_LEVEL in near
    if in_letters:
        near = near[near.index(BYTE_LEVEL) + 1 :]
    if invert:
        # A grapheme cluster is found where a character is.
        by_characters = pattern.replace(CLUSTER, r"[\s\S]")
        return bool(pattern) and _core.is_total(f"{by_characters}|{_NO_LETTER}" if in_letters else by_characters)
    if never_consumes(pattern) or (in_letters and _needs_another_character(pattern)):
        return True
    # An empty text is left as it is: only a segment that is long enough can hold a match.
    if any(_longest(step) < least_length(pattern) for step in near):
        return True
    return literal is not None and (
        any(_is_class(step) and len(_core.pretokenize(literal, step)) > 1 for step in near)
        or (GPT2 in before and literal.isascii() and _is_cut_by_gpt2(literal))
    )


def _needs_another_character(pattern: str) -> bool:
    r"""Whether each match has a character that is no letter of the byte alphabet.

    >>> [_needs_another_character(pattern) for pattern in (" ", r"\s+|a\t", r"\s|a", r" ?a", "é")]
    [True, True, False, False, False]
    """
    if "(?i" in pattern:
        return False
    depth = at = 0
    is_needed = False
    while at < len(pattern):
        character = pattern[at]
        if character == "|" and depth == 0:
            if not is_needed:
                return False
            is_needed = False
        if character in "()|":
            depth += (character == "(") - (character == ")")
            at += 1
            continue
        end = atom_end(pattern, at)
        interval = INTERVAL.match(pattern, end)
        may_be_left_out = pattern[end : end + 1] in ("*", "?") or (interval is not None and int(interval[1]) == 0)
        atom = pattern[at:end]
        if depth == 0 and not may_be_left_out and character not in "*+?{" and least_length(atom) == 1:
            is_needed |= len(_core.pretokenize(_EACH_LETTER_TWICE, atom)) == 1
        at = interval.end() if interval else end
    return is_needed


_FIXED_LENGTH: Final = re.compile(r"\[\\s\\S\]\{1,(\d+)\}")


def _longest(step: str) -> int:
    """The most characters that a segment has behind the step."""
    found = _FIXED_LENGTH.fullmatch(step)
    return int(found[1]) if found else 1 << 62


def _is_class(step: str) -> bool:
    """Whether the step splits by one character at a time, or by runs of a class, so that where it cuts a literal alone
    it cuts that literal everywhere.
    """
    _, regex = uncommented(step)
    end = atom_end(regex, 0) if regex[0] not in "(^$" else 0
    return end > 0 and least_length(regex[:end]) == 1 and re.fullmatch(r"\+?|\{1,\d+\}", regex[end:]) is not None


def _is_cut_by_gpt2(literal: str) -> bool:
    """Whether GPT-2's pattern cuts between two characters of an ASCII literal, whatever stands around it."""

    def kind(character: str) -> int:
        return character.isalpha() + 2 * character.isdigit()

    # It joins characters of two kinds only behind a space and in a contraction.
    return any(
        kind(left) != kind(right) and left != "'" and not left.isspace() and not right.isspace()
        for left, right in pairwise(literal)
    )
