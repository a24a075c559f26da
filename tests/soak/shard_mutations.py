"""Randomly changed folders of shards: reading, resuming and packing succeed or raise a documented error.

Each case changes a folder: values or bytes of its manifest (some with totals and digests that hold again), bytes of its
files, types and order of its offsets. Then it is resumed, opened and read in every way, packed, verified or replaced.
Links, pipes and devices in the places of files are in tests/shards/test_hostile_folders.py.
"""

import contextlib
import hashlib
import itertools
import json
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pairloom import Tokenizer, open_shards, pack_shards, tokenize_files, verify_shards
from pairloom.errors import CorpusError, FormatError, ResumeError
from pairloom.shards.files import FORMATS
from pairloom.shards.manifest import METADATA_KEY
from pairloom.shards.writers import parquet
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import manifest_of
from tests.soak.harness import Result
from tests.soak.isolation import result_of, run_cases
from tests.soak.mutations import changed_bytes, changed_value

SUMMARY = (
    "changed folders of shards, resumed, read, packed, verified and replaced; a failure is another error than the"
    " documented ones, a process that dies or hangs, a change outside of the folder, or a wrong id without an error"
)
QUICK = 200
FULL = 50_000

_TEXTS = [text[:120] for text in DOCUMENTS[:36]]
_SHARD_TOKENS = 300
_MANIFESTS = ("manifest.json", "_manifest.parquet")
_SEED: dict[str, Any] = {"seed": 1}
_PADDED: dict[str, Any] = {"mode": "padded"}


def run(count: int, seed: int) -> Iterator[Result]:
    """Runs `count` cases, by what was done with the folder."""
    # A manifest can demand one shard per token, and so thousands of files.
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as name:
        world = _World(Path(name))
        for number, outcome in run_cases(lambda number: world.case(seed, number), count, timeout=300):
            use = list(_USES)[number % len(_USES)]
            yield result_of(use, outcome.result or f"FAILED {outcome.death}", f"case {number} of seed {seed}")


class _World:
    """Makes valid folders, the inputs, and files outside that nothing may touch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tokenizer = Tokenizer.train(DOCUMENTS, 400)
        self.inputs = [root / f"{number}.jsonl" for number in range(3)]
        for number, path in enumerate(self.inputs):
            path.write_text(json_lines(_TEXTS[number * 12 : number * 12 + 12]))
        self.expected = [self.tokenizer.encode(text) for text in _TEXTS]
        (root / "home").mkdir()
        (root / "home" / "key").write_text("secret")
        (root / "home" / "shard-00000.npy").write_bytes(b"another's")
        self.originals = [(self._made(format, done), format) for format in FORMATS for done in (True, False)]
        self.folder = root / "case" / "out"
        self.folder.parent.mkdir()
        self.before = self._outside()

    def _made(self, format: str, is_complete: bool) -> Path:
        out = self.root / f"{format}-{is_complete}"
        tokenize_files(self.tokenizer, self.inputs, out, format=format, shard_tokens=_SHARD_TOKENS)
        if not is_complete:
            manifest = manifest_of(out)
            for entries in (manifest["shards"], manifest["indexes"]):
                if entries:
                    (out / entries.pop()["file"]).unlink()
            manifest |= {"complete": False, "next": manifest["shards"][-1]["next"]}
            for entry in manifest["inputs"][manifest["next"]["source"] :]:
                del entry["xxh3_128"]
            _write_manifest(out, _consistent(manifest))
        return out

    def _outside(self) -> set[tuple[str, int, int, int]]:
        """Returns (path, inode, size, time of change) for all files outside the case."""
        paths = [path for path in self.root.rglob("*") if "case" not in path.relative_to(self.root).parts]
        return {
            (str(path), status.st_ino, status.st_size, status.st_mtime_ns)
            for path in paths
            for status in [path.lstat()]
        }

    def case(self, seed: int, number: int) -> str:
        """Returns "same" or "other" (ids than the inputs'), "refused", or "FAILED" and why."""
        rng = random.Random(f"{seed} {number}")
        use, call = list(_USES.items())[number % len(_USES)]
        original, format = rng.choice(self.originals)
        shutil.rmtree(self.folder.parent)
        shutil.copytree(original, self.folder)
        for _ in range(rng.choice((1, 1, 2))):
            rng.choice(_CHANGES)(self.folder, rng)
        is_data_changed = any(path.read_bytes() != (original / path.name).read_bytes() for path in _files(self.folder))
        is_mendable = all(_content(self.folder / name) == _content(original / name) for name in _MANIFESTS)
        n_vocab = self.tokenizer.n_vocab
        with contextlib.suppress(Exception):
            manifest = manifest_of(self.folder)
            # Without a tokenizer, the manifest defines the ids; repair reads the inputs that the manifest names.
            if use in ("open", "batches", "pack"):
                n_vocab = manifest["n_vocab"]
            if use == "repair" and [entry["path"] for entry in manifest["inputs"]] != list(map(str, self.inputs)):
                is_data_changed = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                documents = call(self, format)
        except (FormatError, ResumeError, CorpusError, OSError) as error:
            # An untrusted manifest can name any input.
            is_named = str(self.root) in str(error) or (use == "repair" and isinstance(error, OSError))
            what = "refused" if is_named else f"FAILED no name: {error}"
        except BaseException as error:
            is_empty = type(error) is ValueError and "contains no tokens" in str(error)
            what = "refused" if is_empty else f"FAILED {type(error).__name__}: {str(error)[:300]}"
        else:
            what = "same" if documents == self.expected else "other"
            if any(token >= n_vocab for ids in documents for token in ids):
                what = "FAILED an id that the vocabulary lacks"
            elif not is_data_changed and documents != self.expected[: len(documents)]:
                what = "FAILED other ids than those of the files"
            elif not is_data_changed and use in ("resume", "replace", "repair") and what != "same":
                what = "FAILED not all documents"
            elif use == "repair" and is_mendable and what != "same":
                what = "FAILED not mended"
        if changed := self._outside() ^ self.before:
            what = f"FAILED changed outside: {sorted({path for path, *_ in changed})[:3]}"
        return what


# Uses -----------------------------------------------------------------------------------------------------------


def _resume(world: _World, format: str, **more: Any) -> list[list[int]]:
    options: dict[str, Any] = {"format": format, "shard_tokens": _SHARD_TOKENS, **(more or {"resume": True})}
    tokenize_files(world.tokenizer, world.inputs, world.folder, **options)
    return _read(world.folder)


def _replace(world: _World, format: str) -> list[list[int]]:
    return _resume(world, format, overwrite=True)


def _read(folder: Path) -> list[list[int]]:
    return [ids.tolist() for ids in open_shards(folder, incomplete=True)]


def _open(world: _World, format: str) -> list[list[int]]:
    shards = open_shards(world.folder, incomplete=True)
    documents = [ids.tolist() for ids in shards]
    if [shards[number].tolist() for number in range(len(shards))] != documents:
        raise AssertionError("documents by index are others")
    if shards.lengths().tolist() != list(map(len, documents)):
        raise AssertionError("other lengths")
    if shards.tokens(0, shards.n_tokens).tolist() != list(itertools.chain.from_iterable(documents)):
        raise AssertionError("other tokens")
    return documents


def _batches(world: _World, format: str) -> list[list[int]]:
    shards = open_shards(world.folder, incomplete=True)
    options: dict[str, Any] = {"seq_len": 16, "batch": 2, "epochs": 1, "pad_id": -1, "dtype": np.int64}
    orders = [shards.batches(**options, **more) for more in ({}, _SEED, {**_SEED, "shuffle": "document"}, _PADDED)]
    return _checked(world.folder, *(np.concatenate([ids.reshape(-1) for ids in batches]) for batches in orders))


def _pack(world: _World, format: str) -> list[list[int]]:
    rows = world.folder.parent / "rows"
    pack_shards(open_shards(world.folder, incomplete=True), rows, seq_len=16)
    return _checked(world.folder, np.concatenate(_read(rows)))


def _checked(folder: Path, *orders: Any) -> list[list[int]]:
    """Returns the folder's documents; each order must hold their ids, and -1 as padding."""
    documents = _read(folder)
    wanted = sorted(itertools.chain.from_iterable(documents))
    if any(sorted(ids[ids != -1].tolist()) != wanted for ids in orders):
        raise AssertionError("an order holds other ids")
    return documents


def _verify(world: _World, format: str) -> list[list[int]]:
    verify_shards(world.folder)
    verify_shards(world.folder, deep=True)
    return world.expected


def _repair(world: _World, format: str) -> list[list[int]]:
    verify_shards(world.folder, deep=True, repair=True, model=world.tokenizer)
    return _read(world.folder)


_USES: dict[str, Callable[[_World, str], list[list[int]]]] = {
    "resume": _resume,
    "open": _open,
    "batches": _batches,
    "pack": _pack,
    "verify": _verify,
    "repair": _repair,
    "replace": _replace,
}


# Changes --------------------------------------------------------------------------------------------------------


def _files(folder: Path) -> list[Path]:
    """Returns the shards and their indexes."""
    return sorted(folder.glob("shard-*"))


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _manifest_path(folder: Path) -> Path:
    return next(path for path in (folder / name for name in _MANIFESTS) if path.exists())


def _write_manifest(folder: Path, manifest: Any) -> None:
    path = _manifest_path(folder)
    text = json.dumps(manifest, sort_keys=True).encode()
    if path.suffix == ".json":
        path.write_bytes(text)
    else:
        with path.open("wb") as file:
            parquet.write_empty(file, {METADATA_KEY: text})


def _consistent(manifest: Any) -> Any:
    """Returns the manifest with correct sums and digests."""
    shards = manifest["shards"]
    manifest["totals"] |= {name: sum(shard[name] for shard in shards) for name in ("documents", "tokens", "bytes")}
    manifest["totals"] |= {"shards": len(shards), "skipped_files": len(manifest["skipped_files"])}
    manifest["config_sha256"] = hashlib.sha256(json.dumps(manifest["config"], sort_keys=True).encode()).hexdigest()
    return manifest


def _change_manifest(folder: Path, rng: random.Random) -> None:
    # An earlier change may have left something that is not a manifest.
    with contextlib.suppress(Exception):
        manifest = manifest_of(folder)
        for _ in range(rng.choice((1, 1, 3))):
            with contextlib.suppress(LookupError, TypeError):
                manifest = _hostile(manifest, rng) if rng.random() < 0.5 else changed_value(manifest, rng)
        with contextlib.suppress(Exception):
            manifest = _consistent(manifest) if rng.random() < 0.6 else manifest
        _write_manifest(folder, manifest)


def _hostile(manifest: Any, rng: random.Random) -> Any:
    """Returns a manifest with a value that an attacker would choose."""
    manifest = json.loads(json.dumps(manifest))
    files = [*manifest["shards"], *manifest["indexes"]]
    own = ".pairloom-new-0123456789abcdef"
    how = rng.randrange(6)
    if how < 3:
        name, values = list(_HOSTILE_VALUES.items())[how]
        manifest[name] = rng.choice(values)
    elif how == 3:
        names = ("/etc/passwd", "../home/key", "..", "", f"{own}/shard-00000.npy", "shard-00001.npy")
        rng.choice([*files, *manifest["inputs"]])["file"] = rng.choice(names)
    elif how == 4:
        place = rng.choice(("../../home", own, "/tmp"))
        for entry in files:
            entry["file"] = f"{place}/{entry['file']}"
    else:
        name = rng.choice(("tokens", "documents", "size", "bytes"))
        rng.choice(manifest["shards"])[name] = rng.choice((0, 1, -5, 2**63, 2**62, 1.5, "1", None))
    return manifest


_HOSTILE_VALUES: dict[str, tuple[Any, ...]] = {
    "dtype": ("|u1", "<u2", "<u4", "<i2", "<i8", ">u2", "<f4", "O", "<u2,<u2", "V9", "<M8[s]"),
    "n_vocab": (0, 1, 100, 493, 65536, 65537, 2**31, 2**40, -1),
    "format": (*FORMATS, "csv", "../npy"),
}


def _change_manifest_bytes(folder: Path, rng: random.Random) -> None:
    path = _manifest_path(folder)
    path.write_bytes(changed_bytes(path.read_bytes(), rng))


def _change_file(folder: Path, rng: random.Random) -> None:
    path = rng.choice(_files(folder))
    data = path.read_bytes()
    path.write_bytes(rng.choice((b"", data * 2, *(changed_bytes(data, rng) for _ in range(6)))))


def _change_offsets(folder: Path, rng: random.Random) -> None:
    # Not every format has offsets, and an earlier change may have damaged them.
    with contextlib.suppress(Exception):
        path = rng.choice(sorted(folder.glob("*.offsets.npy")))
        offsets = np.load(path)
        dtype = rng.choice(("<u8", "<i8", "<i4", "<u4", "<u2", "<f8", ">i8", "|b1", "<c16"))
        changed = offsets.astype(dtype)
        how = rng.randrange(5)
        if how == 1 and len(changed) > 3:
            changed[[1, 2]] = changed[[2, 1]]
        elif how == 2 and len(changed) > 3 and changed.dtype.kind in "iu":
            changed[rng.randrange(len(changed))] = np.iinfo(changed.dtype).max
        elif how == 3:
            changed = changed.reshape(1, -1)
        elif how == 4:
            changed = changed[:: rng.choice((1, 2, -1))]
        np.save(path, changed)


_CHANGES: tuple[Callable[[Path, random.Random], None], ...] = (
    *(_change_manifest, _change_manifest, _change_manifest_bytes, _change_file, _change_offsets),
)
