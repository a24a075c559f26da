"""The manifest: what a folder of shards holds, and where an unfinished run resumes. docs/shards.md specifies it.

It is a JSON object, replaced atomically after each shard; a shard is complete once the manifest names it. For Parquet
shards it is stored in `_manifest.parquet`: a Parquet file with the shards' schema, no rows, and the JSON in its
metadata, so that pandas, polars, pyarrow and datasets can open the folder (they skip the name or find no rows). For
other formats it is `manifest.json`.
"""

import dataclasses
import hashlib
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pairloom._core import __version__
from pairloom._internal.arguments import LARGEST_INT
from pairloom._internal.atomic import open_regular, sync_directory, write_file
from pairloom.corpus import Position, SkippedFile
from pairloom.errors import FormatError
from pairloom.shards import provenance
from pairloom.shards.files import (
    FORMATS,
    HIDDEN_FOLDER,
    MANIFESTS,
    damage_reported,
    dtype_of,
    file_names,
)
from pairloom.shards.writers import parquet

_PARQUET_NAME, _JSON_NAME = MANIFESTS
SCHEMA: Final = "pairloom-tokens-2"
METADATA_KEY: Final = b"pairloom.manifest"

_PLAIN_KEYS = ("model", "config", "inputs", "format", "dtype", "n_vocab", "version", "complete", "dropped")
_SHA256 = re.compile("[0-9a-f]{64}")
_MAX_IDS = 1 << 31


@dataclass
class Manifest:
    """What a folder of shards holds.

    hidden_folder: the hidden folder that holds the files until they have replaced others; "" if there is none.
    duplicates: documents whose text had occurred before in the corpus; None if they were not counted.
    digests: of the inputs that were read to their ends, by index; they are added to `inputs` as the run goes on.
    dropped: one record for each removal of documents.
    """

    model: str
    config: dict[str, Any]
    inputs: list[dict[str, Any]]
    format: str
    dtype: str
    n_vocab: int
    version: str = __version__
    shards: list[dict[str, Any]] = field(default_factory=list)
    indexes: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    skipped_files: list[SkippedFile] = field(default_factory=list)
    duplicates: int | None = None
    complete: bool = False
    hidden_folder: str = ""
    dropped: list[dict[str, Any]] = field(default_factory=list)
    digests: dict[int, str] = field(default_factory=dict, repr=False, compare=False)
    # JSON of inputs and shards, by id(entry): the manifest is saved after each shard, but each entry is encoded once.
    _encoded: dict[int, tuple[dict[str, Any], str]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def next(self) -> Position:
        """Where the run resumes: after the last shard."""
        return Position(**self.shards[-1]["next"]) if self.shards else Position()

    @property
    def files(self) -> list[dict[str, Any]]:
        """The entries of all files: `file`, `size`, `sha256` ..."""
        return [*self.shards, *self.indexes]

    @property
    def file_names(self) -> set[str]:
        """The names of all files."""
        return {entry["file"] for entry in self.files}

    @property
    def has_provenance(self) -> bool:
        """Whether a provenance table beside each shard says where its documents come from."""
        return bool(self.config.get("provenance"))

    def names_of(self, number: int) -> list[str]:
        """Returns the names of a shard's files: the ids first, the provenance table last."""
        more = [provenance.name_of(self.format, number)] if self.has_provenance else []
        return [*file_names(self.format, number), *more]

    def entries_of(self, number: int) -> list[dict[str, Any]]:
        """Returns the entries of a shard's files, in the order of `names_of`."""
        n_more = len(self.names_of(number)) - 1
        return [self.shards[number], *self.indexes[number * n_more : (number + 1) * n_more]]

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
        return sum(int(shard["bytes"]) for shard in self.shards)

    @property
    def special_literals(self) -> dict[str, int]:
        """How often the literal of each special token occurs as plain text, in all shards."""
        totals: dict[str, int] = {}
        for shard in self.shards:
            for token, n in shard.get("special_literals", {}).items():
                totals[token] = totals.get(token, 0) + n
        return totals

    @property
    def totals(self) -> dict[str, Any]:
        """The sums of all shards, and what was skipped."""
        counted = {} if self.duplicates is None else {"duplicates": self.duplicates}
        return counted | {
            "documents": self.documents,
            "tokens": self.tokens,
            "bytes": self.text_bytes,
            "shards": len(self.shards),
            "skipped": self.skipped,
            "skipped_files": len(self.skipped_files),
            "special_literals": self.special_literals,
        }

    def _inputs_with_totals(self) -> list[dict[str, Any]]:
        """Returns a finished run's inputs with their documents and tokens; for packed rows, those before packing."""
        if not self.complete or any("inputs" not in shard for shard in self.shards):
            return self.inputs
        totals = [{"documents": 0, "tokens": 0} for _ in self.inputs]
        for shard in self.shards:
            for number, n_documents, n_tokens in shard.get("inputs", []):
                totals[number]["documents"] += n_documents
                totals[number]["tokens"] += n_tokens
        return [{**entry, **total} for entry, total in zip(self.inputs, totals, strict=True)]

    @property
    def config_sha256(self) -> str:
        """The SHA-256 of the options."""
        return hashlib.sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()

    def content(self) -> dict[str, Any]:
        """Returns the JSON object."""
        content: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN_KEYS}
        content |= {"schema": SCHEMA, "totals": self.totals, "config_sha256": self.config_sha256}
        for name, entries in (("shards", self.shards), ("indexes", self.indexes)):
            if self.hidden_folder:
                entries = [{**entry, "file": f"{self.hidden_folder}/{entry['file']}"} for entry in entries]
            content[name] = entries
        content["skipped_files"] = [file._asdict() for file in self.skipped_files]
        content["inputs"] = self._inputs_with_totals()
        if not self.complete:
            content["next"] = dataclasses.asdict(self.next)
        return content

    def encoded(self) -> bytes:
        """Returns the JSON text."""
        kept = () if self.hidden_folder else ("shards", "indexes", "inputs")
        lines = [f' "{name}": {self._json_of(value, name in kept)}' for name, value in sorted(self.content().items())]
        # File names that are not UTF-8 hold lone surrogates; backslashreplace writes these as JSON escapes.
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode(errors="backslashreplace")

    def _json_of(self, value: Any, is_kept: bool) -> str:
        """Returns the JSON of a value of the object. is_kept: it is a list whose entries are encoded only once."""
        if not isinstance(value, list) or not value:
            # A JSON string never contains a line break.
            return _json_text(value, indent=1).replace("\n", "\n ")
        # One line per entry: indented JSON is several times slower, and there may be many inputs.
        texts = map(self._entry, value) if is_kept else map(_json_text, value)
        return "[\n  " + ",\n  ".join(texts) + "\n ]"

    def _entry(self, entry: dict[str, Any]) -> str:
        # Kept with the entry, so that no other object can get its id.
        known = self._encoded.get(id(entry))
        if known is None:
            known = self._encoded[id(entry)] = entry, _json_text(entry)
        return known[1]

    def file(self) -> tuple[str, bytes]:
        """Returns the name and the bytes of the manifest's file."""
        if self.format == "parquet":
            file = io.BytesIO()
            # A file without rows, whose metadata carry the JSON text.
            parquet.write_empty(file, {METADATA_KEY: self.encoded()})
            return _PARQUET_NAME, file.getvalue()
        return _JSON_NAME, self.encoded()

    def save(self, folder: Path) -> None:
        """Writes the manifest into `folder` atomically, replacing an older one."""
        name, data = self.file()
        write_file(folder / name, data, True, follows_link=False)
        for other in MANIFESTS:
            if other != name:
                (folder / other).unlink(missing_ok=True)
        sync_directory(folder)

    def replace(self, folder: Path, **changes: Any) -> None:
        """Saves the changed manifest, then changes this object, so that both agree if saving fails."""
        changed = dataclasses.replace(self, **changes)
        n_read = len(self.inputs) if changed.complete else changed.next.source
        changed.inputs = digested(self.inputs, self.digests, self.next.source, n_read)
        changed.save(folder)
        vars(self).update(vars(changed))

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Reads the manifest of `folder`; FileNotFoundError, or FormatError if it is damaged."""
        path = next((folder / name for name in MANIFESTS if os.path.lexists(folder / name)), folder / _JSON_NAME)
        with damage_reported(path, "not a manifest", "remove the folder and start again"):
            with open_regular(path) as file:
                text = parquet.read_metadata(file)[METADATA_KEY] if path.name == _PARQUET_NAME else file.read()
            content = json.loads(text)
            if content["schema"] != SCHEMA:
                raise FormatError(f"{path}: schema {content['schema']!r}; this pairloom reads {SCHEMA!r}")
            return cls.from_content(content)

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "Manifest":
        """Returns the manifest with this JSON object; ValueError, or what misuse of its values raises, if damaged."""
        shards, indexes = content["shards"], content["indexes"]
        hidden = shards[0]["file"].rpartition("/")[0] if shards else ""
        _check(not hidden or HIDDEN_FOLDER.fullmatch(hidden), "the files are not in the folder of a run")
        found = cls(
            **{name: content[name] for name in _PLAIN_KEYS},
            shards=[{**entry, "file": entry["file"].removeprefix(f"{hidden}/")} for entry in shards],
            indexes=[{**entry, "file": entry["file"].removeprefix(f"{hidden}/")} for entry in indexes],
            skipped=content["totals"]["skipped"],
            duplicates=content["totals"].get("duplicates"),
            skipped_files=[SkippedFile(**file) for file in content["skipped_files"]],
            hidden_folder=hidden,
        )
        found.check_values()
        _check(content["totals"] == found.totals, "its totals are not the sums of its shards")
        _check(found.inputs == found._inputs_with_totals(), "totals of an input are not the sums of the shards")
        _check(content["config_sha256"] == found.config_sha256, "its config has another digest")
        _check(found.complete or Position(**content["next"]) == found.next, "next is not the end of the last shard")
        return found

    def check_values(self) -> None:
        """Raises an error for values that no run writes, so that no later code has to check them."""
        _check(type(self.model) is type(self.version) is str and self.format in FORMATS, f"format is {self.format!r}")
        _check(type(self.complete) is bool, "complete must be true or false")
        _check(_is_number(self.n_vocab) and 0 < self.n_vocab <= _MAX_IDS, f"n_vocab is {self.n_vocab!r}")
        _check(self.dtype == dtype_of(self.format, self.n_vocab).str, f"dtype is {self.dtype!r}")
        _check(type(self.config) is dict, "config is not an object")
        _check(
            all(type(record["ids_sha256"]) is list for record in self.dropped),
            "an entry of dropped lacks its list ids_sha256",
        )
        names = list(map(self.names_of, range(len(self.shards))))
        _check([entry["file"] for entry in self.shards] == [ids for ids, *_ in names], "a shard has another name")
        _check(
            [entry["file"] for entry in self.indexes] == [name for _, *more in names for name in more],
            "an index has another name",
        )
        points = [Position(**entry["next"]) for entry in self.shards]
        numbers = [self.skipped, self.duplicates or 0, *(entry["size"] for entry in self.files)]
        numbers += [entry[name] for entry in self.shards for name in ("tokens", "documents", "bytes")]
        numbers += [n for entry in self.shards for n in entry.get("special_literals", {}).values()]
        numbers += [entry.get("dropped", 0) for entry in self.shards]
        numbers += [number for point in points for number in dataclasses.astuple(point)]
        parts = [part for entry in self.shards for part in entry.get("inputs", [])]
        numbers += [n for number, n_documents, n_tokens in parts for n in (number, n_documents, n_tokens)]
        numbers += [file.input for file in self.skipped_files]
        numbers += [entry["bytes"] for entry in self.inputs if entry["bytes"] is not None]
        for entry in self.shards:
            found = [sum(column) for column in zip(*(part[1:] for part in entry.get("inputs", [])), strict=True)]
            _check(
                found in ([], [entry["documents"], entry["tokens"]]),
                "the documents of a shard differ from those of its inputs",
            )
        _check(all(part[0] < len(self.inputs) for part in parts), "documents of a shard belong to no input")
        _check(all(map(_is_number, numbers)), "a number of tokens, documents or bytes is not a valid number")
        _check(
            all(map(_is_number, (self.tokens, self.documents, self.text_bytes))),
            "the totals of the shards are too large",
        )
        _check(all(_SHA256.fullmatch(entry["sha256"]) for entry in self.files), "a digest is not valid")
        _check(
            all(type(entry["path"]) is str and type(entry["mtime_ns"]) in (int, type(None)) for entry in self.inputs),
            "an input lacks its path or its time",
        )
        before = Position()
        for entry, point in zip(self.shards, points, strict=True):
            n, n_before = entry["documents"] + entry.get("dropped", 0), before.documents
            fits = point.documents == n_before + n if point.source == before.source else 0 < point.documents <= n
            is_among = before.source <= point.source < max(len(self.inputs), 1)
            # Shards of a job, which cannot be resumed, have no resume points.
            _check(
                (fits and is_among) or point == before == Position(),
                f"{entry['file']} does not end at its 'next'",
            )
            before = point
        _check(
            all(
                file.input < len(self.inputs) and type(file.path) is type(file.reason) is str
                for file in self.skipped_files
            ),
            "a skipped file is not among the inputs",
        )


def _check(is_so: Any, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_INT


def _json_text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, sort_keys=True, indent=indent, ensure_ascii=False)


def with_inputs(entry: dict[str, Any], numbered: Callable[[int], int]) -> dict[str, Any]:
    """Returns the `inputs` key of a shard's entry with the inputs renumbered; {} if the entry has none."""
    if "inputs" not in entry:
        return {}
    return {"inputs": [(numbered(number), *totals) for number, *totals in entry["inputs"]]}


def digested(
    inputs: list[dict[str, Any]], digests: dict[int, str], first: int = 0, end: int | None = None
) -> list[dict[str, Any]]:
    """Returns the inputs' entries, adding the known digests to those from `first` to `end`."""
    inputs = list(inputs)
    for number in range(first, len(inputs) if end is None else end):
        if number in digests:
            inputs[number] = {**inputs[number], "xxh3_128": digests[number]}
    return inputs


def exists(folder: Path) -> bool:
    """Whether `folder` holds a manifest."""
    return any(os.path.lexists(folder / name) for name in MANIFESTS)


def remove(folder: Path) -> None:
    """Removes the manifest of `folder`, if there is one."""
    for name in MANIFESTS:
        (folder / name).unlink(missing_ok=True)
