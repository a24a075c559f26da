"""The manifest: what a folder of shards holds, and where an unfinished run resumes. docs/shards.md specifies it.

It is a JSON object, replaced atomically after each shard; a shard is complete once the manifest names it. Beside shards
of Parquet it is stored in `_manifest.parquet`: a Parquet file with the shards' schema, no rows, and the JSON in its
metadata, so that pandas, polars, pyarrow and datasets can open the folder (they skip the name or find no rows).
Beside other shards it is `manifest.json`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from pairloom._core import __version__
from pairloom._internal.arguments import LARGEST_INT
from pairloom._internal.atomic import sync_directory
from pairloom.corpus import SkippedFile
from pairloom.errors import FormatError
from pairloom.shards.writers import parquet

__all__ = ["NAMES", "PARTIALS", "Manifest", "ResumePoint", "damage_reported", "exists", "name_of", "remove"]

_JSON_NAME: Final = "manifest.json"
_PARQUET_NAME: Final = "_manifest.parquet"
# In the order of lookup: earlier versions wrote manifest.json beside Parquet shards too.
NAMES: Final = (_PARQUET_NAME, _JSON_NAME)
PARTIALS: Final = tuple(f".{name}.partial" for name in NAMES)
SCHEMA: Final = "pairloom-tokens-2"
_OLD_SCHEMA: Final = "pairloom-tokens-1"
METADATA_KEY: Final = b"pairloom.manifest"

_PLAIN_KEYS = ("model", "config", "config_sha256", "inputs", "format", "dtype", "n_vocab", "version", "complete")


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A boundary between two documents of the corpus, from which a run resumes.

    source: index of the input; documents: number of its documents before the boundary. source_bytes and source_skipped:
    bytes of text, and skipped records, of earlier inputs.
    """

    source: int = 0
    documents: int = 0
    source_bytes: int = 0
    source_skipped: int = 0


_POINT = tuple(field.name for field in dataclasses.fields(ResumePoint))


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
    shards: list[dict[str, Any]] = field(default_factory=list)
    indexes: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    skipped_files: list[SkippedFile] = field(default_factory=list)
    complete: bool = False
    next: ResumePoint = ResumePoint()
    # Bytes of text in shards that an earlier version wrote without recording it.
    old_bytes: int | None = None
    # The JSON of inputs and shards, by their ids: a run saves its manifest once a shard, and encodes each entry once.
    _encoded: dict[int, tuple[dict[str, Any], str]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def documents(self) -> int:
        """Documents in all shards."""
        return sum(int(shard["documents"]) for shard in self.shards)

    @property
    def tokens(self) -> int:
        """Ids in all shards."""
        return sum(int(shard["tokens"]) for shard in self.shards)

    @property
    def text_bytes(self) -> int:
        """Bytes of text in all shards."""
        return (self.old_bytes or 0) + sum(int(shard.get("bytes", 0)) for shard in self.shards)

    @property
    def special_literals(self) -> dict[str, int]:
        """How often the literal of each special token occurs as plain text, in all shards."""
        totals: dict[str, int] = {}
        for shard in self.shards:
            for token, n in shard.get("special_literals", {}).items():
                totals[token] = totals.get(token, 0) + n
        return totals

    def encoded(self) -> bytes:
        """The JSON text."""
        content: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN_KEYS}
        content["schema"] = SCHEMA
        content["totals"] = {
            "documents": self.documents,
            "tokens": self.tokens,
            "bytes": self.text_bytes,
            "shards": len(self.shards),
            "skipped": self.skipped,
            "skipped_files": len(self.skipped_files),
            "special_literals": self.special_literals,
        }
        content["shards"] = self.shards
        content["indexes"] = self.indexes
        content["skipped_files"] = [file._asdict() for file in self.skipped_files]
        if self.complete:
            # Copies of a corpus give the same manifest; modification times matter only to an unfinished run.
            content["inputs"] = [
                {key: value for key, value in entry.items() if key != "mtime_ns"} for entry in self.inputs
            ]
        else:
            content["next"] = dataclasses.asdict(self.next)
        if self.old_bytes is not None:
            content["old_bytes"] = self.old_bytes
        kept = {"shards", "indexes"} if self.complete else {"shards", "indexes", "inputs"}
        lines = [f' "{name}": {self._json_of(value, name in kept)}' for name, value in sorted(content.items())]
        # In names of files that are not UTF-8 lone surrogates stand for bytes: as JSON escapes them, too.
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode(errors="backslashreplace")

    def _json_of(self, value: Any, is_kept: bool) -> str:
        """The JSON of a value of the object; is_kept: it is a list whose entries are encoded once."""
        if not isinstance(value, list) or not value:
            return _json_text(value, 1)
        # Entry by entry: the encoder makes an object for each sign of what it encodes.
        texts = map(self._entry, value) if is_kept else (_json_text(entry, 2) for entry in value)
        return "[\n  " + ",\n  ".join(texts) + "\n ]"

    def _entry(self, entry: dict[str, Any]) -> str:
        # Kept with the entry, so that no other can have its id.
        known = self._encoded.get(id(entry))
        if known is None:
            known = self._encoded[id(entry)] = entry, _json_text(entry, 2)
        return known[1]

    def file(self) -> tuple[str, bytes]:
        """The name and the bytes of its file."""
        name = name_of(self.format)
        return name, _in_parquet(self.encoded()) if name == _PARQUET_NAME else self.encoded()

    def save(self, folder: Path) -> None:
        """Writes it into `folder` atomically, replacing an older one."""
        name, data = self.file()
        partial = folder / f".{name}.partial"
        try:
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(folder / name)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        for other in NAMES:
            if other != name:
                (folder / other).unlink(missing_ok=True)
        sync_directory(folder)

    def replace(self, folder: Path, **changes: Any) -> None:
        """Saves the changed manifest, then changes this object, so that both agree if saving fails."""
        changed = dataclasses.replace(self, **changes)
        changed.save(folder)
        vars(self).update(vars(changed))

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Reads the manifest of `folder`; FileNotFoundError, or FormatError when it is damaged."""
        path = next((folder / name for name in NAMES if (folder / name).exists()), folder / _JSON_NAME)
        with damage_reported(path, "not a manifest", "remove the folder and start again"):
            return cls._of(json.loads(_json_of(path)), path)

    @classmethod
    def _of(cls, content: dict[str, Any], path: Path) -> Manifest:
        if content["schema"] not in (SCHEMA, _OLD_SCHEMA):
            raise FormatError(f"{path}: schema {content['schema']!r}; this pairloom reads {SCHEMA!r}")
        found = cls(
            **{name: content[name] for name in _PLAIN_KEYS},
            shards=content["shards"],
            indexes=content["indexes"],
            skipped=content["totals"]["skipped"],
            skipped_files=[SkippedFile(**file) for file in content.get("skipped_files", [])],
            next=ResumePoint() if content["complete"] else ResumePoint(**content["next"]),
            old_bytes=content.get("old_bytes"),
        )
        found._check()
        if content["schema"] == _OLD_SCHEMA:
            found.old_bytes = content["totals"]["bytes"]
            # Options that did not exist in that version.
            found.config = {"bos_id": None, "specials": "recognise", **found.config}
        return found

    def _check(self) -> None:
        """Raises ValueError or TypeError for values that no run writes: they would be met later, one by one."""
        names = ("tokens", "documents")
        numbers = [self.n_vocab, self.skipped, *(getattr(self.next, name) for name in _POINT)]
        for shard in self.shards:
            numbers += [shard[name] for name in names] + [shard.get("bytes", 0)]
            numbers += shard.get("special_literals", {}).values()
            numbers += [point[name] for point in [shard.get("next")] if point is not None for name in _POINT]
        numbers += [self.tokens, self.documents, self.text_bytes]
        if wrong := [number for number in numbers if type(number) is not int or not 0 <= number <= LARGEST_INT]:
            raise ValueError(f"{wrong[0]!r} is no number of tokens, documents or bytes")
        lists = (self.inputs, "path"), (self.shards, "file"), (self.indexes, "file")
        files = [entry[name] for entries, name in lists for entry in entries]
        if wrong := [name for name in (self.format, self.model, *files) if type(name) is not str]:
            raise TypeError(f"{wrong[0]!r} is no name")
        if np.dtype(self.dtype).kind not in "iu":
            raise ValueError(f"ids of {self.dtype}")
        _ = (dict(self.config), self.special_literals)


def _json_text(value: Any, indent: int) -> str:
    """The JSON of a value, with so many spaces more at the start of its lines."""
    # A line break is never within a string of JSON.
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False)
    return text.replace("\n", "\n" + " " * indent)


@contextlib.contextmanager
def damage_reported(path: Path, what: str, remedy: str) -> Iterator[None]:
    """Raises anything that libraries raise for a damaged file as a FormatError, and what the system says as it is."""
    try:
        yield
    except (MemoryError, ImportError, FormatError):
        raise
    except Exception as error:
        # pyarrow has errors of files without a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise FormatError(f"{path}: {what}: {error!r}; {remedy}") from error


def name_of(format: str) -> str:
    """The name of the manifest beside shards of this format."""
    return _PARQUET_NAME if format == "parquet" else _JSON_NAME


def exists(folder: Path) -> bool:
    """Whether `folder` holds a manifest."""
    return any((folder / name).exists() for name in NAMES)


def remove(folder: Path) -> None:
    """Removes the manifest of `folder`, if there is one."""
    for name in NAMES:
        (folder / name).unlink(missing_ok=True)


def _in_parquet(encoded: bytes) -> bytes:
    """A Parquet file without rows that carries the JSON text."""
    file = io.BytesIO()
    parquet.write_empty(file, {METADATA_KEY: encoded})
    return file.getvalue()


def _json_of(path: Path) -> bytes:
    """The JSON text of a manifest."""
    if path.name != _PARQUET_NAME:
        return path.read_bytes()
    return parquet.read_metadata(path)[METADATA_KEY]
