"""The decoders of the library as a tokenizer.json holds them; `Tokenizer.decode` runs those that loading takes."""

import itertools
import re
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass
from typing import ClassVar

from pairloom._internal.arguments import check_several
from pairloom.dropin.tokenizers import normalizers
from pairloom.dropin.tokenizers.components import Component, Regex, not_taken
from pairloom.formats.shared.byte_alphabet import to_alphabet

_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_BYTE_OF = {to_alphabet(bytes([byte])): byte for byte in range(256)}


class Decoder(Component):
    """A step from tokens to text."""

    kind: ClassVar[str] = "decoder"

    def decode(self, tokens: Sequence_[str]) -> str:
        """The text of tokens."""
        check_several("tokens", "str", tokens)
        return "".join(self._chained(list(tokens)))

    def _chained(self, tokens: list[str]) -> list[str]:
        """The tokens as the step leaves them."""
        raise NotImplementedError


@dataclass(eq=False)
class ByteLevel(Decoder):
    """Letters of the byte alphabet become bytes."""

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def _chained(self, tokens: list[str]) -> list[str]:
        return [b"".join(map(_bytes_of, tokens)).decode(errors="replace")]


@dataclass(eq=False)
class Metaspace(Decoder):
    """`replacement` becomes a space, but for the first one."""

    replacement: str = "\u2581"
    prepend_scheme: str = "always"
    split: bool = True

    def _chained(self, tokens: list[str]) -> list[str]:
        spaced = [token.replace(self.replacement, " ") for token in tokens]
        if spaced and self.prepend_scheme != "never":
            # Of the first token all are left out.
            spaced[0] = tokens[0].replace(self.replacement, "")
        return spaced


@dataclass(eq=False)
class BPEDecoder(Decoder):
    """The suffix of a word becomes a space."""

    suffix: str = "</w>"

    def _chained(self, tokens: list[str]) -> list[str]:
        return [token.replace(self.suffix, " ") for token in tokens[:-1]] + [
            token.replace(self.suffix, "") for token in tokens[-1:]
        ]


@dataclass(eq=False)
class ByteFallback(Decoder):
    """Tokens of bytes become text."""

    def _chained(self, tokens: list[str]) -> list[str]:
        found: list[str] = []
        for is_byte, run in itertools.groupby(tokens, lambda token: bool(_BYTE.fullmatch(token))):
            if not is_byte:
                found += run
                continue
            data = bytes(int(token[3:5], 16) for token in run)
            try:
                found.append(data.decode())
            except UnicodeDecodeError:
                found += ["\ufffd"] * len(data)
        return found


@dataclass(eq=False)
class Fuse(Decoder):
    """All tokens become one text."""

    def _chained(self, tokens: list[str]) -> list[str]:
        return ["".join(tokens)]


@dataclass(eq=False)
class Replace(Decoder):
    """Writes `content` in the place of what a pattern matches."""

    pattern: str | Regex
    content: str

    def _chained(self, tokens: list[str]) -> list[str]:
        return normalizers.replaced(tokens, self.pattern, self.content)


@dataclass(eq=False)
class Strip(Decoder):
    """Leaves up to `left` and `right` of a character at the ends of a text out."""

    renamed: ClassVar[dict[str, str]] = {"left": "start", "right": "stop"}
    content: str = " "
    left: int = 0
    right: int = 0

    def _chained(self, tokens: list[str]) -> list[str]:
        found = []
        for token in tokens:
            start = next((at for at, each in enumerate(token[: self.left]) if each != self.content), None)
            token = token[min(self.left, len(token)) if start is None else start :]
            kept = token.rstrip(self.content)
            found.append(token[: max(len(kept), len(token) - self.right)])
        return found


@dataclass(eq=False)
class Sequence(Decoder):
    """Steps that follow each other."""

    decoders: list[Decoder]

    def _chained(self, tokens: list[str]) -> list[str]:
        for step in self.decoders:
            tokens = step._chained(tokens)
        return tokens


CTC, DecodeStream, WordPiece = not_taken("CTC", "DecodeStream", "WordPiece")


def _bytes_of(token: str) -> bytes:
    """The bytes of a token in the byte alphabet; those of its text if it is not written so."""
    try:
        return bytes(map(_BYTE_OF.__getitem__, token))
    except KeyError:
        return token.encode()
