"""The library's one model that pairloom trains: BPE."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pairloom._internal.arguments import shown
from pairloom._internal.atomic import write_file
from pairloom.dropin.tokenizers.components import Component, not_taken
from pairloom.dropin.tokenizers.trainers import BpeTrainer
from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import parse, take_id
from pairloom.view.merging import merged


class Model(Component):
    """A vocabulary and how it is applied to a piece of text."""

    kind: ClassVar[str] = "model"


@dataclass(eq=False)
class BPE(Model):
    """BPE. vocab and merges can be paths. cache_capacity has no effect: the core does not need this hint."""

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
            raise ValueError("pass both vocab and merges, or neither")
        if isinstance(self.vocab, str):
            vocab, merges = self.read_file(self.vocab, self.merges)
            self._put("vocab", vocab)
            self._put("merges", merges)
        self._put("vocab", dict(self.vocab or {}))
        self._put("fuse_unk", bool(self.fuse_unk))
        if self.dropout is not None and not 0 <= self.dropout <= 1:
            raise ValueError(f"dropout must be from 0 to 1, not {shown(self.dropout)}")
        self._put("dropout", None if self.dropout is None else float(self.dropout))
        super().__post_init__()
        pairs = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in self.merges or ()]
        for pair in pairs:
            if len(pair) != 2 or not all(part in self.vocab for part in pair):
                raise ValueError(f"the merge {shown(pair)} is not a pair of two tokens of the vocabulary")
        self._put("merges", [(left, right) for left, right in pairs])

    def node(self) -> dict[str, Any]:
        """Returns the model's JSON, the vocabulary sorted by id."""
        node = super().node()
        del node["cache_capacity"]
        vocab, merges = node.pop("vocab"), node.pop("merges")
        return node | {"vocab": dict(sorted(vocab.items(), key=lambda entry: entry[1])), "merges": merges}

    @classmethod
    def from_file(cls, vocab: str, merges: str, **settings: Any) -> "BPE":
        """Makes the model from vocab.json and merges.txt."""
        return cls(*cls.read_file(vocab, merges), **settings)

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Reads vocab.json and merges.txt. Raises OSError, or FormatError for malformed content."""
        ids = parse(Path(vocab).read_bytes(), str(vocab))
        if not isinstance(ids, dict):
            raise FormatError(f"{vocab}: must be an object of tokens and their ids, not {shown(ids)}")
        pairs: list[tuple[str, str]] = []
        with Path(merges).open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                parts = line.removesuffix("\n").removesuffix("\r").split(" ")
                if line.startswith("#version"):
                    continue
                if len(parts) != 2:
                    raise FormatError(f"{merges}: line {number} must be two tokens and a space, not {shown(line)}")
                pairs.append((parts[0], parts[1]))
        return {token: take_id(token_id, str(vocab)) for token, token_id in ids.items()}, pairs

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Writes vocab.json and merges.txt into an existing folder, and returns their paths.

        prefix: put before both names, with a dash; `name` is its older spelling.
        """
        prefix = name if prefix is None else prefix
        start = "" if prefix is None else f"{prefix}-"
        # Not with Path, which drops "./"; the library keeps it.
        paths = [os.path.join(folder, start + file) for file in ("vocab.json", "merges.txt")]  # noqa: PTH118
        vocab = json.dumps(self.node()["vocab"], ensure_ascii=False, separators=(",", ":"))
        lines = ["#version: 0.2", *(f"{left} {right}" for left, right in self.merges), ""]
        for path, text in zip(paths, (vocab, "\n".join(lines)), strict=True):
            write_file(Path(path), text.encode(), True)
        return paths

    def get_trainer(self) -> BpeTrainer:
        """Returns a trainer for this model, with default options."""
        return BpeTrainer()

    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a token; None if there is no such token."""
        found: int | None = self.vocab.get(token)
        return found

    def id_to_token(self, id: int) -> str | None:
        """Returns the token of an id; None if there is no such id."""
        return next((text for text, token_id in self.vocab.items() if token_id == id), None)

    def ranks(self) -> dict[tuple[str, str], int]:
        """Returns the rank of each merge."""
        return {pair: rank for rank, pair in enumerate(self.merges)}

    def merged(self, piece: str, ranks: Mapping[tuple[str, str], int]) -> list[tuple[str, int, int]]:
        """Returns the tokens of a piece as (token, start, end), in characters."""
        if self.ignore_merges and piece in self.vocab:
            return [(piece, 0, len(piece))]
        parts: list[tuple[str, int, int]] = []
        for at, letter in enumerate(piece):
            text = (self.continuing_subword_prefix or "") * (at > 0) + letter
            text += (self.end_of_word_suffix or "") * (at == len(piece) - 1)
            bytes_of = [f"<0x{byte:02X}>" for byte in text.encode()]
            if text in self.vocab:
                parts.append((text, at, at + 1))
            elif self.byte_fallback and all(token in self.vocab for token in bytes_of):
                parts += [(token, at, at + 1) for token in bytes_of]
            elif self.unk_token is not None:
                if self.unk_token not in self.vocab:
                    raise ValueError(
                        f"{letter!r} is unknown, and the unk_token {self.unk_token!r} is not in the vocabulary; train "
                        "with it as a special token"
                    )
                fuses = self.fuse_unk and parts and parts[-1][0] == self.unk_token
                parts.append((self.unk_token, parts.pop()[1] if fuses else at, at + 1))
        prefix = self.continuing_subword_prefix or ""

        def lookup(left: str, right: str) -> tuple[int, str] | None:
            rank = ranks.get((left, right))
            return None if rank is None else (rank, left + right.removeprefix(prefix))

        found = merged([text for text, *_ in parts], lookup)
        lasts = [end - 1 for end in (*found.starts, len(parts))[1:]]
        tokens = zip(found.symbols, found.starts, lasts, strict=True)
        return [(text, parts[first][1], parts[last][2]) for text, first, last in tokens if text is not None]


Unigram, WordLevel, WordPiece = not_taken("Unigram", "WordLevel", "WordPiece")
