"""The decoders of the library as a tokenizer.json holds them; `Tokenizer.decode` runs those that loading takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pairloom._internal.arguments import check_int, check_str
from pairloom.dropin.tokenizers.components import Component, Regex, module_getattr, pattern_node

__all__ = ["BPEDecoder", "ByteFallback", "ByteLevel", "Decoder", "Fuse", "Metaspace", "Replace", "Sequence", "Strip"]

__getattr__ = module_getattr("decoders")


class Decoder(Component):
    """A step from tokens to text."""

    kind: ClassVar[str] = "decoder"


@dataclass(eq=False)
class ByteLevel(Decoder):
    """Letters of the byte alphabet become bytes."""

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def __init__(self) -> None:
        self.add_prefix_space = self.trim_offsets = self.use_regex = True


@dataclass(eq=False)
class Metaspace(Decoder):
    """`replacement` becomes a space, but for the first one."""

    replacement: str = "\u2581"
    prepend_scheme: str = "always"
    split: bool = True

    def __post_init__(self) -> None:
        check_str("replacement", self.replacement)


@dataclass(eq=False)
class BPEDecoder(Decoder):
    """The suffix of a word becomes a space."""

    suffix: str = "</w>"

    def __post_init__(self) -> None:
        check_str("suffix", self.suffix)


@dataclass(eq=False)
class ByteFallback(Decoder):
    """Tokens of bytes become text."""


@dataclass(eq=False)
class Fuse(Decoder):
    """All tokens become one text."""


@dataclass(eq=False)
class Replace(Decoder):
    """Writes `content` in the place of what a pattern matches."""

    pattern: dict[str, str]
    content: str

    def __init__(self, pattern: str | Regex, content: str) -> None:
        self.pattern = pattern_node(pattern)
        self.content = check_str("content", content)


@dataclass(eq=False)
class Strip(Decoder):
    """Leaves up to `left` and `right` of a character at the ends of a text out."""

    content: str = " "
    start: int = 0
    stop: int = 0

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        self.content = check_str("content", content)
        self.start = check_int("left", left, least=0)
        self.stop = check_int("right", right, least=0)


@dataclass(eq=False)
class Sequence(Decoder):
    """Steps that follow each other."""

    decoders: list[Decoder]

    def __post_init__(self) -> None:
        self.decoders = list(self.decoders)
        for step in self.decoders:
            if not isinstance(step, Decoder):
                raise TypeError(f"a step must be a decoder of this module, not {type(step).__name__}")
