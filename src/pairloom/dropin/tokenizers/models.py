"""The model of the library that training takes: BPE."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pairloom._internal.arguments import check_bool, check_str, shown
from pairloom.dropin.tokenizers.components import Component, module_getattr

__all__ = ["BPE", "Model"]

__getattr__ = module_getattr("models")


class Model(Component):
    """What tokens there are."""

    kind: ClassVar[str] = "model"


@dataclass(eq=False)
class BPE(Model):
    """BPE; cache_capacity is a hint of speed that the core does not need."""

    dropout: float | None = None
    unk_token: str | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    vocab: dict[str, int] = field(default_factory=dict)
    merges: list[tuple[str, str]] = field(default_factory=list)

    def __init__(
        self,
        vocab: Mapping[str, int] | None = None,
        merges: Iterable[tuple[str, str]] | None = None,
        cache_capacity: int | None = None,
        dropout: float | None = None,
        unk_token: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        fuse_unk: bool | None = None,
        byte_fallback: bool = False,
        ignore_merges: bool = False,
    ) -> None:
        if (vocab is None) != (merges is None):
            raise ValueError("give both vocab and merges, or neither")
        self.dropout = dropout
        self.unk_token = unk_token
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.fuse_unk = bool(fuse_unk)
        self.byte_fallback = byte_fallback
        self.ignore_merges = ignore_merges
        self.vocab = dict(vocab or {})
        self.merges = list(merges or [])
        self.__post_init__()

    def __post_init__(self) -> None:
        if self.dropout is not None and not 0 <= self.dropout <= 1:
            raise ValueError(f"dropout must be from 0 to 1, not {shown(self.dropout)}")
        for name in ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
            if (value := getattr(self, name)) is not None:
                check_str(name, value)
        for name in ("fuse_unk", "byte_fallback", "ignore_merges"):
            check_bool(name, getattr(self, name))
        pairs = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in self.merges]
        for pair in pairs:
            if len(pair) != 2 or not all(part in self.vocab for part in pair):
                raise ValueError(f"the merge {shown(pair)} is not of two tokens of the vocabulary")
        self.merges = [(left, right) for left, right in pairs]

    def node(self) -> dict[str, Any]:
        """Its JSON, the vocabulary by id."""
        return super().node() | {"vocab": dict(sorted(self.vocab.items(), key=lambda entry: entry[1]))}

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """The vocabulary and the merges of two files."""
        lines = Path(merges).read_text("utf-8").split("\n")
        pairs = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
        return json.loads(Path(vocab).read_text("utf-8")), pairs  # type: ignore[return-value]

    @classmethod
    def from_file(cls, vocab: str, merges: str, **settings: Any) -> BPE:
        """The model of vocab.json and merges.txt."""
        return cls(*cls.read_file(vocab, merges), **settings)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None if there is none."""
        return self.vocab.get(token)
