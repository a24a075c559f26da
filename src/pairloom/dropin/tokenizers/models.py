"""The model of the library that training takes: BPE."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pairloom._internal.arguments import shown
from pairloom.dropin.tokenizers.components import Component

__all__ = ["BPE", "Model"]


class Model(Component):
    """What tokens there are."""

    kind: ClassVar[str] = "model"


@dataclass(eq=False)
class BPE(Model):
    """BPE; cache_capacity is a hint of speed that the core does not need."""

    vocab: Any = None
    merges: Any = None
    cache_capacity: int | None = None
    dropout: float | None = None
    unk_token: str | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False

    def __post_init__(self) -> None:
        if (self.vocab is None) != (self.merges is None):
            raise ValueError("give both vocab and merges, or neither")
        self.vocab = dict(self.vocab or {})
        self.fuse_unk = bool(self.fuse_unk)
        if self.dropout is not None and not 0 <= self.dropout <= 1:
            raise ValueError(f"dropout must be from 0 to 1, not {shown(self.dropout)}")
        self.dropout = None if self.dropout is None else float(self.dropout)
        super().__post_init__()
        pairs = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in self.merges or ()]
        for pair in pairs:
            if len(pair) != 2 or not all(part in self.vocab for part in pair):
                raise ValueError(f"the merge {shown(pair)} is not of two tokens of the vocabulary")
        self.merges = [(left, right) for left, right in pairs]

    def node(self) -> dict[str, Any]:
        """Its JSON, the vocabulary by id."""
        node = super().node()
        del node["cache_capacity"]
        vocab, merges = node.pop("vocab"), node.pop("merges")
        return node | {"vocab": dict(sorted(vocab.items(), key=lambda entry: entry[1])), "merges": merges}

    @classmethod
    def from_file(cls, vocab: str, merges: str, **settings: Any) -> BPE:
        """The model of vocab.json and merges.txt."""
        lines = Path(merges).read_text("utf-8").split("\n")
        pairs: Any = [line for line in lines if line and not line.startswith("#version")]
        return cls(json.loads(Path(vocab).read_text("utf-8")), pairs, **settings)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None if there is none."""
        found: int | None = self.vocab.get(token)
        return found
