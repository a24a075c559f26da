"""Special tokens with rules: where a literal is recognised and what it absorbs, as in HuggingFace's library.

A rule is a pair (literal, name):

    after_space      like "normalized", but only after a space, which it absorbs, or at the beginning of the remaining
                     text; the space that a normaliser puts before a text is not put before the text after this literal,
                     and stands alone if the literal absorbs the first character
    any_case         like "nfc", in any ASCII case
    nfc              like "normalized", but not where NFC would join its end with a following mark
    lstrip, rstrip   absorbs the white space before or after it
    normalized       is searched for in the text that is left after all literals without this rule
    ordinary         stays text
    single_word      only if no word character is next to it; else it stays text

A literal that stays text hides others that overlap it.
"""

import itertools
import unicodedata
from collections.abc import Collection

import regex

from pairloom.reference.characters import SPACE_SYMBOL

Rules = Collection[tuple[str, str]]

_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"


def split_by_rules(text: str, special_tokens: Collection[str], rules: Rules) -> list[tuple[str, str | None]]:
    """Cuts a text into pieces: ("", literal) for a recognised special token, (text, None) for the text between.

    >>> split_by_rules("a <m>b", ["<m>"], [("<m>", "lstrip")])
    [('a', None), ('', '<m>'), ('b', None)]
    >>> split_by_rules("<m> a<m> <m>b", ["<m>"], [("<m>", "after_space")])
    [('', '<m>'), (' a<m>', None), ('', '<m>'), ('b', None)]
    """
    late = {literal for literal, rule in rules if rule in ("after_space", "any_case", "nfc", "normalized")}
    pieces: list[tuple[str, str | None]] = [(text, None)]
    for literals in ([t for t in special_tokens if t not in late], [t for t in special_tokens if t in late]):
        pieces = [
            part
            for piece, literal in pieces
            for part in (_split(piece, literals, rules) if literal is None else [(piece, literal)])
        ]
    return pieces


def _split(text: str, literals: Collection[str], rules: Rules) -> list[tuple[str, str | None]]:
    if not literals:
        return [(text, None)] if text else []
    pieces: list[tuple[str, str | None]] = []
    end = 0
    longest_first = sorted(literals, key=len, reverse=True)
    in_any_case = any(rule == "any_case" and literal in literals for literal, rule in rules)
    flags = regex.IGNORECASE | regex.ASCII if in_any_case else 0
    pattern = regex.compile("|".join(f"({regex.escape(literal)})" for literal in longest_first), flags)
    at = 0
    while match := pattern.search(text, at):
        at = match.end()
        literal = longest_first[match.lastindex - 1]
        has = {rule for of, rule in rules if of == literal}
        beside_word = regex.search(f"{_WORD}\\Z", text[: match.start()]) or regex.match(_WORD, text[match.end() :])
        # A literal can begin inside white space that the previous one absorbed. It still counts (unless it has
        # "lstrip"), and the text continues after it.
        is_inside = match.start() < end
        marks = itertools.takewhile(unicodedata.combining, text[match.end() :])
        joined = unicodedata.normalize("NFC", match.group()[-1] + "".join(marks))
        is_joined = not has.isdisjoint(("any_case", "nfc")) and joined[0] != match.group()[-1]
        if is_joined or "ordinary" in has or ("single_word" in has and beside_word) or ("lstrip" in has and is_inside):
            continue
        before = text[end : max(end, match.start())]
        if "after_space" in has and match.start() > 0:
            if not before.endswith((" ", SPACE_SYMBOL)):
                at = match.start() + 1
                continue
            before = before[:-1]
        pieces += [(before.rstrip(_SPACES) if "lstrip" in has else before, None), ("", literal)]
        end = match.end()
        if "rstrip" in has:
            end += len(text[end:]) - len(text[end:].lstrip(_SPACES))
    pieces.append((text[end:], None))
    return [(piece, literal) for piece, literal in pieces if piece or literal]


# Unicode's White_Space. Python's str.strip() would also strip four ASCII separators.
_SPACES = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
