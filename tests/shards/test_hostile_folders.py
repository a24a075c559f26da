"""Untrusted folders: nothing outside is read or written, nothing blocks, and the manifest is validated."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pairloom import Corpus, CorpusError, FormatError, Tokenizer, open_shards, pack_shards, tokenize_files
from pairloom.shards.files import FORMATS
from pairloom.shards.packed import tokenize_packed
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 500)
PACK: dict[str, Any] = {"seq_len": 64, "seed": 1, "shuffle": "document", "rank": 0, "world_size": 1}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text(json_lines(DOCUMENTS))
    return tmp_path / "a.jsonl"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "key").write_text("secret")
    return tmp_path / "home" / "key"


def unfinished(corpus: Path, out: Path, **options: Any) -> None:
    """A run that stopped after some shards; its input is intact again."""
    whole = corpus.read_text()
    corpus.write_text(whole * 3 + "{broken\n")
    with pytest.raises(CorpusError), pytest.MonkeyPatch.context() as patched:
        patched.setattr("pairloom.corpus.corpus.PIECE_BYTES", 700)
        tokenize_files(TOKENIZER, corpus, out, shard_tokens=500, **options)
    corpus.write_text(whole * 3)
    os.utime(corpus, ns=(1, 1))
    assert len(manifest_of(out)["shards"]) > 2


def plant(folder: Path, names: list[str], victim: Path) -> None:
    """Links to the victim, and from the name of a hidden folder to its folder."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).symlink_to(victim.parent if name.startswith(".pairloom-new") else victim)


# Names that a run recognises as its own: it removes the link, not its target.
OWN = [".manifest.json.0123456789abcdef", ".pairloom-new-0123456789abcdef", "shard-00099.npy"]


@pytest.mark.parametrize("format", ["npy", "parquet"])
@pytest.mark.parametrize("how", ["fresh", "resume", "overwrite"])
def test_no_file_is_written_through_a_planted_link(
    corpus: Path, victim: Path, tmp_path: Path, format: str, how: str
) -> None:
    out = tmp_path / "out"
    if how == "resume":
        unfinished(corpus, out, format=format)
    elif how == "overwrite":
        tokenize_files(TOKENIZER, corpus, out, format=format)
    names = [".manifest.json.partial", "._manifest.parquet.partial"]
    names += [f".shard-{number:05d}{suffix}.partial" for number in range(20) for suffix in (".npy", ".parquet")]
    plant(out, [*names, *OWN], victim)
    options: dict[str, Any] = {"format": format, "overwrite": how == "overwrite", "resume": how != "overwrite"}
    options |= {"shard_tokens": 500} if how == "resume" else {}
    if how != "resume":
        with pytest.raises(FileExistsError, match=r"contains \.(_?manifest|shard).*\.partial"):
            tokenize_files(TOKENIZER, corpus, out, **options)
        for name in names:
            (out / name).unlink()
    tokenize_files(TOKENIZER, corpus, out, **options)
    assert {path.name for path in out.iterdir() if path.is_symlink()} == (set(names) if how == "resume" else set())
    assert list(victim.parent.iterdir()) == [victim] and victim.read_text() == "secret"


def test_rows_are_not_packed_through_a_planted_link(corpus: Path, victim: Path, tmp_path: Path) -> None:
    tokenize_files(TOKENIZER, corpus, tmp_path / "out")
    pack_shards(tmp_path / "out", tmp_path / "rows", seq_len=32)
    plant(tmp_path / "rows", OWN, victim)
    pack_shards(tmp_path / "out", tmp_path / "rows", seq_len=64, overwrite=True)
    assert documents_of(tmp_path / "rows")
    (tmp_path / ".rows.unpacked").symlink_to(victim.parent)
    with pytest.raises(FormatError, match=r"\.rows\.unpacked: is a symbolic link"):
        tokenize_packed(TOKENIZER, Corpus(corpus), tmp_path / "rows", PACK)
    assert list(victim.parent.iterdir()) == [victim] and victim.read_text() == "secret"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder"])
@pytest.mark.parametrize("what", ["shard", "index", "manifest"])
def test_only_regular_files_are_read(corpus: Path, tmp_path: Path, format: str, kind: str, what: str) -> None:
    out = tmp_path / "out"
    tokenize_files(TOKENIZER, corpus, out, format=format)
    manifest = manifest_of(out)
    entries = {"shard": manifest["shards"], "index": manifest["indexes"] or manifest["shards"]}
    entries["manifest"] = [{"file": "_manifest.parquet" if format == "parquet" else "manifest.json"}]
    path = out / entries[what][0]["file"]
    path.rename(tmp_path / "elsewhere")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "elsewhere")
    for use in (
        lambda: list(open_shards(out)),
        lambda: tokenize_files(TOKENIZER, corpus, out, format=format, resume=True),
        lambda: pack_shards(out, tmp_path / "rows", seq_len=8),
    ):
        with pytest.raises(FormatError, match=f"{path.name}: is a link, a pipe, a device or a folder"):
            use()


def test_offsets_without_a_sign_are_read_and_checked(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tokenize_files(TOKENIZER, corpus, out)
    path = out / "shard-00000.offsets.npy"
    offsets = np.load(path).astype(np.uint64)
    np.save(path, offsets)
    assert [ids.tolist() for ids in open_shards(out)] == [TOKENIZER.encode(text) for text in DOCUMENTS]
    uses: list[Callable[[], Any]] = [
        lambda: list(open_shards(out)),
        lambda: [open_shards(out)[number] for number in range(2)],
        lambda: open_shards(out).batches(seq_len=16, batch=4, seed=1, shuffle="document"),
        lambda: open_shards(out).batches(seq_len=16, batch=4, pad_id=0, mode="padded"),
    ]
    for hostile in (
        [0, 50, 20, *offsets[3:]],
        [0, 2**63 + 5, *offsets[2:]],
        [0, 2**64 - 1, *offsets[2:]],
        # As signed 64-bit numbers, all differences are positive here.
        [0, 2**63 - 1, 2**64 - 2, *offsets[3:]],
    ):
        np.save(path, np.array(hostile, np.uint64))
        for use in uses:
            with pytest.raises(FormatError, match="boundaries of its documents are not in order"):
                use()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [None, np.int64])
def test_ids_that_the_vocabulary_lacks_are_refused(corpus: Path, tmp_path: Path, format: str, dtype: Any) -> None:
    out = tmp_path / "out"
    tokenize_files(TOKENIZER, corpus, out, format=format)
    path = out / manifest_of(out)["shards"][0]["file"]
    lengths = [len(TOKENIZER.encode(text)) for text in DOCUMENTS]
    wanted = next(number for number, length in enumerate(lengths) if number > 2 and length > 1)
    if format == "parquet":
        rows = parquet.read_table(path)["input_ids"].to_pylist()
        rows[wanted][1] = TOKENIZER.n_vocab
        parquet.write_table(pa.table({"input_ids": pa.array(rows, pa.list_(pa.uint32()))}), path)
    else:
        ids = np.memmap(path, "<u2", "r+", offset=128 if format == "npy" else 0)
        ids[sum(lengths[:wanted]) + 1] = TOKENIZER.n_vocab
        ids.flush()
    shards, wrong = open_shards(out), f"contains id {TOKENIZER.n_vocab}, but the vocabulary has {TOKENIZER.n_vocab}"
    options: dict[str, Any] = {"seq_len": shards.n_tokens, "batch": 1, "pad_id": -100, "dtype": np.int64, "epochs": 1}
    options |= {"dtype": np.int32} if dtype is None else {}
    for use in (
        lambda: shards[wanted],
        lambda: list(shards),
        lambda: shards.tokens(0, shards.n_tokens),
        lambda: list(shards.batches(**options)),
        lambda: list(shards.batches(**options, seed=1, shuffle="document")),
        lambda: list(shards.batches(**options, mode="padded")),
        lambda: pack_shards(out, tmp_path / "rows", seq_len=8),
    ):
        with pytest.raises(FormatError, match=wrong):
            use()
    assert shards[0].tolist() == TOKENIZER.encode(DOCUMENTS[0])
