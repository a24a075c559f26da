"""The library's decoders, as in a tokenizer.json. `Tokenizer.decode` runs those that pairloom can load."""

import itertools
import re
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass
from typing import ClassVar

from pairloom._internal.arguments import check_iterable
from pairloom._internal.byte_alphabet import from_alphabet
from pairloom.dropin.tokenizers import normalizers
from pairloom.dropin.tokenizers.components import Component, Regex, not_taken

_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")


class Decoder(Component):
    """A decoding step: changes tokens on the way to text."""

    kind: ClassVar[str] = "decoder"

    def decode(self, tokens: Sequence_[str]) -> str:
        """Returns the text of tokens."""
        check_iterable("tokens", "str", tokens)
        return "".join(self._apply(list(tokens)))

    def _apply(self, tokens: list[str]) -> list[str]:
        """Returns the tokens after this step."""
        raise NotImplementedError


@dataclass(eq=False)
class ByteLevel(Decoder):
    """Turns letters of the byte alphabet into bytes."""

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def _apply(self, tokens: list[str]) -> list[str]:
        # A token with another character is plain text.
        data = [token.encode() if (found := from_alphabet(token)) is None else found for token in tokens]
        return [b"".join(data).decode(errors="replace")]


@dataclass(eq=False)
class Metaspace(Decoder):
    """Turns `replacement` into a space, except at the start of the text."""

    replacement: str = "\u2581"
    prepend_scheme: str = "always"
    split: bool = True

    def _apply(self, tokens: list[str]) -> list[str]:
        spaced = [token.replace(self.replacement, " ") for token in tokens]
        if spaced and self.prepend_scheme != "never":
            # In the first token, every replacement is removed.
            spaced[0] = tokens[0].replace(self.replacement, "")
        return spaced


@dataclass(eq=False)
class BPEDecoder(Decoder):
    """Turns the suffix of a word into a space; removes it from the last word."""

    suffix: str = "</w>"

    def _apply(self, tokens: list[str]) -> list[str]:
        return [token.replace(self.suffix, " ") for token in tokens[:-1]] + [
            token.replace(self.suffix, "") for token in tokens[-1:]
        ]


@dataclass(eq=False)
class ByteFallback(Decoder):
    """Turns byte tokens such as <0x0A> into text."""

    def _apply(self, tokens: list[str]) -> list[str]:
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
    """Joins all tokens into one."""

    def _apply(self, tokens: list[str]) -> list[str]:
        return ["".join(tokens)]


@dataclass(eq=False)
class Replace(Decoder):
    """Replaces each match of a pattern by `content`."""

    pattern: str | Regex
    content: str

    def _apply(self, tokens: list[str]) -> list[str]:
        return normalizers.replaced(tokens, self.pattern, self.content)


@dataclass(eq=False)
class Strip(Decoder):
    """Removes up to `left` and `right` copies of a character from the ends of each token."""

    renamed: ClassVar[dict[str, str]] = {"left": "start", "right": "stop"}
    content: str = " "
    left: int = 0
    right: int = 0

    def _apply(self, tokens: list[str]) -> list[str]:
        found = []
        for token in tokens:
            start = next((at for at, each in enumerate(token[: self.left]) if each != self.content), None)
            token = token[min(self.left, len(token)) if start is None else start :]
            kept = token.rstrip(self.content)
            found.append(token[: max(len(kept), len(token) - self.right)])
        return found


@dataclass(eq=False)
class Sequence(Decoder):
    """Runs steps one after the other."""

    decoders: list[Decoder]

    def _apply(self, tokens: list[str]) -> list[str]:
        for step in self.decoders:
            tokens = step._apply(tokens)
        return tokens


CTC, DecodeStream, WordPiece = not_taken("CTC", "DecodeStream", "WordPiece")
