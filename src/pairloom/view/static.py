"""Draws tokens as coloured HTML without scripts or style sheets, for notebooks whose scripts do not run.

In an untrusted notebook, JupyterLab keeps inline styles and drops frames and scripts. GitHub drops inline styles too;
there, the borders of `code` elements still separate the tokens.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

_COLOURS: Final = ("#cfe2ff", "#ffe3b3", "#d3f0d6", "#f6d5ee")
_SPECIAL: Final = "#31313a"
_MAX_TOKENS: Final = 1000
_JOINER: Final = "\u200d"
_MODIFIERS: Final = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_FLAGS: Final = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
"""Regional indicators; two of them form a flag."""
_HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def static_html(payload: dict[str, Any]) -> str:
    """Returns the first tokens of the texts in a page's payload, as elements with a background colour."""
    parts = []
    letters = ("A: ", "B: ") if len(payload["tokenizers"]) > 1 else ("",)
    left = _MAX_TOKENS
    for index, text in enumerate(payload["texts"]):
        if left <= 0:
            parts.append(f"… and {len(payload['texts']) - index:,} more texts<br>")
            break
        parts.append(f"<b>{html.escape(text['name'])}</b><br>")
        longest = max(len(side["ids"]) for side in text["sides"])
        for letter, tokenizer, side in zip(letters, payload["tokenizers"], text["sides"], strict=True):
            if letter:
                parts.append(f"<i>{letter}{html.escape(tokenizer['name'])}</i><br>")
            hex_of = dict(zip(tokenizer["ids"], tokenizer["hex"], strict=True))
            shown = side["ids"][:left]
            drawn = _elements([bytes.fromhex(hex_of[i]) for i in shown], [i in tokenizer["special"] for i in shown])
            parts.append(f'<div dir="auto" style="white-space:pre-wrap">{"".join(drawn)}</div>')
            if (n_more := len(side["ids"]) - len(shown)) > 0:
                parts.append(f"… {n_more:,} more tokens; run the cell to see them.<br>")
        left -= longest
    return "".join(parts)


def _elements(tokens: Sequence[bytes], special: Sequence[bool]) -> Iterator[str]:
    """Yields one element per unit; a unit of several tokens has a stripe for each token."""
    first = 0
    for text, n in units(tokens):
        colours = [_SPECIAL if special[index] else _COLOURS[index % 4] for index in range(first, first + n)]
        ink = "#ffffff" if special[first] and n == 1 else "#1b1b1f"
        style = f"background-color:{colours[0]};color:{ink};padding:0;font-family:monospace"
        if n > 1:
            stops = (f"{c} {100 * k // n}%,{c} {100 * (k + 1) // n}%" for k, c in enumerate(colours))
            style += f";background-image:linear-gradient(90deg,{','.join(stops)})"
        shown = _HIDDEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
        yield f'<code style="{style}">{html.escape(shown).replace(chr(13), "&#13;").replace(chr(10), "<br>")}</code>'
        first += n


def units(tokens: Sequence[bytes]) -> Iterator[tuple[str, int]]:
    """Groups tokens that share what a reader sees as one character; yields (text, number of tokens) of each group."""
    data = b"".join(tokens)
    # The byte offsets where a visible character starts, that is, one not combined with the character before it.
    starts, at, before = {len(data)}, 0, ""
    # With "surrogateescape", each byte that is not text counts as one character of one byte.
    for character in data.decode(errors="surrogateescape"):
        joins = unicodedata.category(character)[0] == "M" or before == _JOINER or character in _MODIFIERS
        is_flag = before in _FLAGS and character in _FLAGS
        if not joins and not is_flag and character != _JOINER:
            starts.add(at)
        at += len(character.encode(errors="surrogateescape"))
        before = "" if is_flag else character
    first = n = 0
    for end in accumulate(map(len, tokens)):
        n += 1
        if end in starts:
            yield data[first:end].decode(errors="replace"), n
            first, n = end, 0
