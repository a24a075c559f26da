"""The manifest: what a folder of shards holds, and where an unfinished run goes on.

Enters: the options of a run, then its shards one by one. Leaves: `manifest.json`, replaced atomically after each
shard, the same bytes for the same run whether it was broken or not. A shard counts once the manifest names it.

Keys: schema; version (of pairloom); model (sha256 of the native file of the model); config (format, eot_id,
shard_tokens and the options of reading) and config_sha256; inputs ({path, bytes} each); format, dtype, n_vocab; totals
(documents, tokens, bytes of text, shards, skipped records); shards ({file, tokens, documents, sha256} each); indexes
({file, sha256} each: offsets and .idx files); complete; next, where a run that is not complete goes on (a `Place`).
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairloom._core import __version__
from pairloom.errors import FormatError
from pairloom.formats.atomic import sync_directory

__all__ = ["Manifest", "Place"]

NAME = "manifest.json"
PARTIAL = ".manifest.json.partial"
SCHEMA = "pairloom-tokens-1"


@dataclass(frozen=True, slots=True)
class Place:
    """A place between two documents of the corpus.

    source: number of the input; documents: how many of its documents lie before. source_bytes and source_skipped: text
    and left out records of the inputs before it.
    """

    source: int = 0
    documents: int = 0
    source_bytes: int = 0
    source_skipped: int = 0


@dataclass
class Manifest:
    """What a folder of shards holds."""

    model: str
    config: dict[str, Any]
    config_sha256: str
    inputs: list[dict[str, Any]]
    format: str
    dtype: str
    n_vocab: int
    version: str = __version__
    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    skipped: int = 0
    shards: list[dict[str, Any]] = field(default_factory=list)
    indexes: list[dict[str, Any]] = field(default_factory=list)
    complete: bool = False
    next: Place = Place()

    def encoded(self) -> bytes:
        """The bytes of the file."""
        names = ("model", "config", "config_sha256", "inputs", "format", "dtype", "n_vocab", "version", "complete")
        content: dict[str, Any] = {name: getattr(self, name) for name in names}
        content["schema"] = SCHEMA
        content["totals"] = {
            "documents": self.documents,
            "tokens": self.tokens,
            "bytes": self.text_bytes,
            "shards": len(self.shards),
            "skipped": self.skipped,
        }
        content["shards"] = self.shards
        content["indexes"] = self.indexes
        if not self.complete:
            content["next"] = dataclasses.asdict(self.next)
        return json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False).encode() + b"\n"

    def save(self, folder: Path) -> None:
        """Writes it into `folder`, over an older one, atomically."""
        partial = folder / PARTIAL
        try:
            with partial.open("wb") as file:
                file.write(self.encoded())
                file.flush()
                os.fsync(file.fileno())
            partial.replace(folder / NAME)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        sync_directory(folder)

    def replace(self, folder: Path, **changes: Any) -> None:
        """Changes it in `folder` and then here: where that fails it says what the folder's says."""
        changed = dataclasses.replace(self, **changes)
        changed.save(folder)
        vars(self).update(vars(changed))

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Reads the manifest of `folder`; FileNotFoundError, or FormatError when it is damaged."""
        path = folder / NAME
        try:
            content = json.loads(path.read_bytes())
            if content["schema"] != SCHEMA:
                raise FormatError(f"{path}: schema {content['schema']!r}; this pairloom reads {SCHEMA!r}")
            totals = content["totals"]
            names = ("model", "config", "config_sha256", "inputs", "format", "dtype", "n_vocab", "version", "complete")
            return cls(
                **{name: content[name] for name in names},
                documents=totals["documents"],
                tokens=totals["tokens"],
                text_bytes=totals["bytes"],
                skipped=totals["skipped"],
                shards=content["shards"],
                indexes=content["indexes"],
                next=Place() if content["complete"] else Place(**content["next"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{path}: not a manifest: {error!r}; remove the folder and start again") from error
