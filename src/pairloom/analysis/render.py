"""Renders tokens for people: escaped on one line, or as a text in which each token has a colour.

The output is safe to print: control characters and bytes that are not valid UTF-8 are escaped.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Final

from pairloom.view.static import units

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

_SHADES: Final = ("\x1b[48;5;24m", "\x1b[48;5;58m", "\x1b[48;5;53m", "\x1b[48;5;22m")
_RESET: Final = "\x1b[0m"
_ESCAPED: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def is_text(token: bytes) -> bool:
    """Whether the token consists of whole characters."""
    return token.decode(errors="ignore").encode() == token


def shown_token(token: bytes) -> str:
    r"""Returns the token as a Python literal: a str if it consists of whole characters, else bytes.

    >>> shown_token(b" the"), shown_token(b"\xe2\x80")
    ("' the'", "b'\\xe2\\x80'")
    """
    return repr(token.decode() if is_text(token) else token)


def coloured(tokenizer: Tokenizer, text: str) -> str:
    """Returns the text with a background colour for each token, for terminals with 256 colours.

    A character that several tokens share is shown whole, followed by their number: "न×3".
    """
    tokens = [tokenizer.id_to_token(token_id) for token_id in tokenizer.encode(text)]
    pieces = []
    for shade, (characters, n) in zip(cycle(_SHADES), units(tokens), strict=False):
        piece = characters.translate(_ESCAPED) + (f"×{n}" if n > 1 else "")
        # A background still on at a line end would colour the rest of the line.
        pieces.append(shade + piece.replace("\n", f"{_RESET}\n{shade}") + _RESET)
    return "".join(pieces)
