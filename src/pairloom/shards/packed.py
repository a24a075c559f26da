"""pack_shards: writes down the order of a training loop, so that a loop can read files from start to end.

Each document of the new folder is a row of `seq_len` ids. The rows are those of rank `rank` in epoch 0 of
`OpenShards.batches` with one row per step, but the last row of the epoch is not padded. docs/shards.md specifies it.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom._internal.arguments import check_bool, check_choice, check_int, shown
from pairloom._internal.folder_lock import locked_new_folder
from pairloom._internal.optional_deps import import_pyarrow
from pairloom._internal.warnings import warn
from pairloom.corpus import Corpus
from pairloom.errors import ResumeError
from pairloom.shards import manifest as manifest_file
from pairloom.shards.batches import Batches
from pairloom.shards.config import SHARD_TOKENS, new_manifest, run_config
from pairloom.shards.files import FORMATS, dtype_of, is_run_file, not_empty_error, refuse_symlink
from pairloom.shards.manifest import Manifest
from pairloom.shards.provenance import ProvenanceRows
from pairloom.shards.publishing import publish_shard, publishing, replacement
from pairloom.shards.reading import OpenShards, open_shards
from pairloom.shards.resume import check_options, has_changed
from pairloom.shards.shards import Batch
from pairloom.shards.storage import local_folder
from pairloom.shards.tokenize_files import TokenizedFiles, tokenize_files, without_run_files
from pairloom.tokenizer import Tokenizer

# Ids handed to the writer at once.
_CHUNK_IDS = 1 << 21


def pack_shards(
    shards: OpenShards | str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    seq_len: int,
    seed: int | None = None,
    shuffle: str = "document",
    rank: int = 0,
    world_size: int = 1,
    format: str | None = None,
    shard_tokens: int = SHARD_TOKENS,
    overwrite: bool = False,
) -> TokenizedFiles:
    """Writes shards again as rows of `seq_len` ids, in shuffled order if there is a seed.

    shards: a folder, or `OpenShards`. output: a new or empty folder, or one with shards to overwrite. seed, shuffle: as
    for `OpenShards.batches`. rank, world_size: write every world_size-th row, from row `rank` on. format: None keeps
    it. Every id is in exactly one row of one rank; only the very last row can be shorter. A killed run starts over.
    Provenance tables are kept, and held in memory meanwhile.
    Raises ValueError, FileExistsError, OSError.
    """
    opened = shards if isinstance(shards, OpenShards) else open_shards(shards)
    source = opened.manifest
    format = source.format if format is None else format
    check_choice("format", format, FORMATS)
    check_int("shard_tokens", shard_tokens, least=1)
    check_bool("overwrite", overwrite)
    if source.has_provenance and "pack" in source.config:
        raise ValueError(f"{opened.folder}: contains rows that are already packed; pack the original shards")
    dtype = dtype_of(format, source.n_vocab)
    order: dict[str, Any] = {"seed": seed, "shuffle": shuffle, "rank": rank, "world_size": world_size}
    rows = (
        opened.batches(seq_len=seq_len, batch=1, **order, epochs=1, pad_id=0, dtype=dtype) if opened.n_tokens else None
    )
    pack = {"seq_len": seq_len, **order}
    config = {**source.config, "format": format, "shard_tokens": shard_tokens, "pack": pack}
    manifest = Manifest(
        model=source.model,
        config=config,
        inputs=source.inputs,
        format=format,
        dtype=dtype.str,
        n_vocab=source.n_vocab,
    )
    folder = local_folder("output", output)
    if folder.resolve() == opened.folder.resolve():
        raise ValueError(f"output is {shown(str(folder))}, which is the folder of the shards themselves; pass another")
    if source.config.get("eot") is None and source.config.get("bos") is None and len(opened) > 1:
        warn(
            "these shards have no token between documents, so rows join the end of one to the start of the next; "
            "tokenize with eot= or bos= to put a special token there"
        )
    with locked_new_folder(folder, parents=True):
        _check_room(folder, overwrite)
        with replacement(folder) as new:
            manifest.save(new)
            publish = partial(publish_shard, new, manifest, None)
            with publishing(new, manifest, list(source.special_literals), publish) as writer:
                for batch in [] if rows is None else _rows(rows, opened, seq_len, rank, world_size):
                    writer.add(batch)
            kept = {name: getattr(source, name) for name in ("skipped", "skipped_files", "duplicates")}
            manifest.replace(new, complete=True, **kept)
    return TokenizedFiles(folder, manifest, was_complete=False)


def _rows(rows: Batches, shards: OpenShards, seq_len: int, rank: int, world_size: int) -> Iterator[Batch]:
    """Yields the rows of a rank as documents, some at a time."""
    n_all = -(-shards.n_tokens // seq_len)
    n_rows = len(range(rank, n_all, world_size))
    at_once = max(_CHUNK_IDS // seq_len, 1)
    n_tokens = 0
    tables = map(shards.provenance, range(len(shards.manifest.shards) if shards.manifest.has_provenance else 0))
    origins = [table.select(["input", "record", "bytes", "id"]) for table in tables]
    joined = import_pyarrow().concat_tables(origins).combine_chunks() if origins else None
    for first in range(0, n_rows, at_once):
        steps = range(first, min(first + at_once, n_rows))
        ids = np.concatenate([rows.at(step)[0] for step in steps])
        ends = np.arange(1, len(steps) + 1) * seq_len
        if steps[-1] * world_size + rank == n_all - 1:
            ends[-1] -= n_all * seq_len - shards.n_tokens
        # The text of a row is unknown, so its bytes are estimated from its share of the ids.
        byte_ends = (n_tokens + ends) * (shards.manifest.text_bytes / shards.n_tokens)
        parts = None
        if joined is not None:
            # Each step has one row, so its column of rows is 0.
            of_steps = [rows.documents_of(step) + np.array([step - first, 0, 0, 0, 0]) for step in steps]
            parts = _provenance(joined, np.concatenate(of_steps), shards.manifest.config.get("id_field") is not None)
        # The rows that hold the literals are unknown, so the first row has them all.
        n_of = [] if first else shards.manifest.special_literals.values()
        literals = np.array([(0, token, n) for token, n in enumerate(n_of)], np.int64).reshape(-1, 3)
        yield Batch(ids[: ends[-1]], ends, byte_ends.astype(np.int64), literals, provenance=parts)
        n_tokens += int(ends[-1])


def _provenance(table: Any, parts: npt.NDArray[np.int64], has_ids: bool) -> ProvenanceRows:
    """Returns provenance rows for document parts, in the format of `Batches.documents_of`; table: of all documents."""
    row, start, end, document, before = parts.T
    *numbers, ids = table.take(document).columns
    inputs, records, n_bytes = (column.to_numpy() for column in numbers)
    listed = ids.to_pylist() if has_ids else None
    return ProvenanceRows(row, np.cumsum(end - start), inputs, records, before, n_bytes, listed)


def _check_room(folder: Path, overwrite: bool) -> None:
    """Raises FileExistsError if the folder holds other files, or shards that must not be replaced."""
    others = sorted(path.name for path in folder.iterdir() if not is_run_file(path.name))
    if others:
        raise not_empty_error(folder, others[0])
    if manifest_file.exists(folder) and not overwrite:
        raise FileExistsError(
            errno.EEXIST, "already contains a run; replace it (overwrite=True), or pass a new folder", str(folder)
        )


def tokenize_packed(
    tokenizer: Tokenizer,
    corpus: Corpus,
    output: str | os.PathLike[str],
    pack: dict[str, Any],
    *,
    format: str = "npy",
    shard_tokens: int = SHARD_TOKENS,
    resume: bool = False,
    overwrite: bool = False,
    run: dict[str, Any] | None = None,
    **options: Any,
) -> TokenizedFiles:
    """Runs `tokenize_files` into `.NAME.unpacked` beside `output`, then `pack_shards` with the options `pack`.

    The unpacked shards are kept if the run stops, and removed when it is done. run: threads, progress and rewrite,
    which do not change the shards. options: eot, bos, specials, duplicates, provenance and id_field.
    """
    folder = local_folder("output", output)
    for name in ("seq_len", "world_size"):
        check_int(name, pack[name], least=1)
    check_int("rank", pack["rank"], least=0, most=pack["world_size"] - 1)
    if pack["seed"] is not None:
        check_int("seed", pack["seed"], least=0)
    corpus = without_run_files(corpus, folder)
    between = refuse_symlink(folder.with_name(f".{folder.name}.unpacked"))
    if manifest_file.exists(folder) and (found := Manifest.load(folder)).complete and not overwrite:
        if not resume:
            raise FileExistsError(errno.EEXIST, "already contains a run; replace it (overwrite=True)", str(folder))
        config = run_config(tokenizer, format=format, shard_tokens=shard_tokens, **options)
        check_options(folder, found, new_manifest(tokenizer, {**config, **corpus.options, "pack": pack}, []))
        inputs = corpus.listing
        is_same = [entry["path"] for entry in inputs] == [entry["path"] for entry in found.inputs]
        if not is_same or any(map(has_changed, found.inputs, inputs)):
            raise ResumeError(f"{folder}: the inputs have changed since it was packed; replace it (overwrite=True)")
        return TokenizedFiles(folder, found, was_complete=True)
    done = tokenize_files(tokenizer, corpus, between, resume=resume, overwrite=overwrite, **(run or {}), **options)
    packed = pack_shards(done.folder, folder, **pack, format=format, shard_tokens=shard_tokens, overwrite=overwrite)
    shutil.rmtree(between)
    return packed
