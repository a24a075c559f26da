"""Reads shards using only the documented layout."""

import hashlib
import itertools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the bytes of each file by its name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifest_of(folder: Path) -> dict[str, Any]:
    if (folder / "_manifest.parquet").exists():
        metadata: Any = pyarrow.parquet.read_metadata(folder / "_manifest.parquet").metadata
        text = metadata[b"pairloom.manifest"]
    else:
        text = (folder / "manifest.json").read_bytes()
    manifest: dict[str, Any] = json.loads(text)
    return manifest


def documents_of(folder: Path) -> list[list[int]]:
    """Returns the ids of every document; checks sizes and digests against the manifest."""
    manifest = manifest_of(folder)
    read = {"npy": read_npy, "bin": read_bin, "parquet": read_parquet, "megatron": read_megatron}[manifest["format"]]
    documents = []
    for shard in manifest["shards"]:
        path = folder / shard["file"]
        found = read(path, np.dtype(manifest["dtype"]))
        assert len(found) == shard["documents"]
        assert sum(map(len, found)) == shard["tokens"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == shard["sha256"]
        documents.extend(found)
    for index in manifest["indexes"]:
        assert hashlib.sha256((folder / index["file"]).read_bytes()).hexdigest() == index["sha256"]
    named = {entry["file"] for entry in [*manifest["shards"], *manifest["indexes"]]}
    assert {path.name for path in folder.iterdir()} == named | {
        "_manifest.parquet" if manifest["format"] == "parquet" else "manifest.json"
    }
    totals = manifest["totals"]
    assert (totals["documents"], totals["tokens"]) == (len(documents), sum(map(len, documents)))
    return documents


def cut(ids: Any, offsets: Any) -> list[list[int]]:
    return [ids[start:end].tolist() for start, end in itertools.pairwise(offsets)]


def read_npy(path: Path, dtype: np.dtype[Any]) -> list[list[int]]:
    ids = np.load(path, mmap_mode="r")
    offsets = np.load(path.with_suffix(".offsets.npy"), mmap_mode="r")
    assert ids.dtype == dtype and offsets.dtype == np.int64
    assert offsets[0] == 0 and offsets[-1] == len(ids)
    return cut(ids, offsets)


def read_bin(path: Path, dtype: np.dtype[Any]) -> list[list[int]]:
    # An empty file cannot be mapped.
    ids = np.memmap(path, dtype, mode="r") if path.stat().st_size else np.zeros(0, dtype)
    return cut(ids, np.load(path.with_suffix(".offsets.npy")))


def read_parquet(path: Path, dtype: np.dtype[Any]) -> list[list[int]]:
    table = pyarrow.parquet.read_table(path)
    assert table.column_names == ["input_ids"]
    assert str(table.schema.field(0).type.value_type) == "uint32"
    rows: list[list[int]] = table["input_ids"].to_pylist()
    return rows


def read_megatron(path: Path, dtype: np.dtype[Any]) -> list[list[int]]:
    """Reads like Megatron's _IndexReader and _MMapBinReader."""
    with path.with_suffix(".idx").open("rb") as file:
        assert file.read(9) == b"MMIDIDX\x00\x00"
        assert struct.unpack("<Q", file.read(8)) == (1,)
        codes = {4: np.int32, 8: np.uint16}
        assert codes[struct.unpack("<B", file.read(1))[0]] == dtype
        n_sequences = struct.unpack("<Q", file.read(8))[0]
        n_documents = struct.unpack("<Q", file.read(8))[0]
        start = file.tell()
    index = np.memmap(path.with_suffix(".idx"), mode="r", order="C")
    lengths = np.frombuffer(index, dtype=np.int32, count=n_sequences, offset=start)
    pointers = np.frombuffer(index, dtype=np.int64, count=n_sequences, offset=start + lengths.nbytes)
    starts = np.frombuffer(index, dtype=np.int64, count=n_documents, offset=start + lengths.nbytes + pointers.nbytes)
    assert start + lengths.nbytes + pointers.nbytes + starts.nbytes == index.size
    assert starts.tolist() == list(range(n_sequences + 1))
    data = np.memmap(path, mode="r", order="C") if path.stat().st_size else np.zeros(0, np.uint8)
    return [
        np.frombuffer(data, dtype=dtype, count=length, offset=pointer).tolist()
        for length, pointer in zip(lengths, pointers, strict=True)
    ]
