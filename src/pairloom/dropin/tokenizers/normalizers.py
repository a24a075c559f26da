"""The library's normalizers that training supports; each changes a text before it is split."""

from dataclasses import dataclass
from typing import ClassVar

from pairloom import _core
from pairloom._internal.arguments import check_choice, check_str
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom.dropin.encoding import WHITE_SPACE
from pairloom.dropin.tokenizers.components import Component, Regex, Steps, not_taken


class Normalizer(Component):
    """A step that changes texts before they are split."""

    kind: ClassVar[str] = "normalizer"

    def normalize_str(self, sequence: str) -> str:
        """Returns the text after this step."""
        return self.normalize_all([check_str("sequence", sequence)])[0]

    def normalize_all(self, texts: list[str]) -> list[str]:
        """Returns each text after this step."""
        return list(map(self._apply, texts))

    def _apply(self, text: str) -> str:
        raise NotImplementedError


@dataclass(eq=False)
class _OfTheCore(Normalizer):
    """A step that the core runs under the same name, so Python's Unicode version does not matter."""

    def normalize_all(self, texts: list[str]) -> list[str]:
        return _core.normalized(texts, [type(self).__name__.lower()])


class NFC(_OfTheCore):
    """Canonical composition."""


class NFD(_OfTheCore):
    """Canonical decomposition."""


class NFKC(_OfTheCore):
    """Compatibility composition."""


class NFKD(_OfTheCore):
    """Compatibility decomposition."""


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """Returns the normalizer for "nfc", "nfd", "nfkc" or "nfkd"."""
    forms = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}
    check_choice("normalizer", normalizer, list(forms))
    return forms[normalizer]()


class Lowercase(_OfTheCore):
    """Lowercases each character regardless of its neighbours."""


@dataclass(eq=False)
class StripAccents(Normalizer):
    """Removes combining marks."""

    def normalize_all(self, texts: list[str]) -> list[str]:  # noqa: D102
        return replaced(texts, Regex(r"\p{M}+"), "")


@dataclass(eq=False)
class Strip(Normalizer):
    """Removes white space at the ends."""

    renamed: ClassVar[dict[str, str]] = {"left": "strip_left", "right": "strip_right"}
    left: bool = True
    right: bool = True

    def _apply(self, text: str) -> str:
        text = text.lstrip(WHITE_SPACE) if self.left else text
        return text.rstrip(WHITE_SPACE) if self.right else text


@dataclass(eq=False)
class Replace(Normalizer):
    """Replaces each match of a pattern by `content`."""

    pattern: str | Regex
    content: str

    def __post_init__(self) -> None:
        super().__post_init__()
        text = self.pattern
        if not text if isinstance(text, str) else _core.read_oniguruma(text.pattern)[1]:
            raise ValueError(f"the pattern {text!r} can match nothing; rewrite it so that it cannot")

    def normalize_all(self, texts: list[str]) -> list[str]:  # noqa: D102
        return replaced(texts, self.pattern, self.content)


@dataclass(eq=False)
class Prepend(Normalizer):
    """Puts `prepend` before each text that is not empty."""

    prepend: str

    def _apply(self, text: str) -> str:
        return self.prepend + text if text else text


@dataclass(eq=False)
class ByteLevel(Normalizer):
    """Writes each byte as a letter of the byte alphabet."""

    def _apply(self, text: str) -> str:
        return to_alphabet(text.encode())


@dataclass(eq=False)
class Sequence(Steps, Normalizer):
    """Runs steps one after the other."""

    normalizers: list[Normalizer]

    def __len__(self) -> int:
        return len(self.normalizers)

    def normalize_all(self, texts: list[str]) -> list[str]:  # noqa: D102
        for step in self.normalizers:
            texts = step.normalize_all(texts)
        return texts


def moves_start(normalizer: Normalizer | None) -> bool:
    """Returns whether the library may lose the start of a text, as it does where a match of two characters begins."""
    if isinstance(normalizer, Sequence):
        return any(map(moves_start, normalizer.normalizers))
    if isinstance(normalizer, Replace):
        return not (normalizer.content and isinstance(normalizer.pattern, str) and len(normalizer.pattern) == 1)
    return isinstance(normalizer, StripAccents) or (isinstance(normalizer, Strip) and normalizer.left)


def replaced(texts: list[str], pattern: str | Regex, content: str) -> list[str]:
    """Replaces each match of a pattern by `content` in each text."""
    if isinstance(pattern, str):
        return [text.replace(pattern, content) for text in texts]
    found = []
    for text, matches in zip(texts, _core.matches(texts, _core.read_oniguruma(pattern.pattern)[0]), strict=True):
        ends = [0, *(end for _, end in matches)]
        starts = [*(start for start, _ in matches), len(text)]
        found.append(content.join(text[end:start] for end, start in zip(ends, starts, strict=True)))
    return found


BertNormalizer, Nmt, Precompiled = not_taken("BertNormalizer", "Nmt", "Precompiled")
