"""Columns whose memory holds a text once for many rows: as many rows are decoded at a time as memory allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError

N_ROWS = 500
TEXT = "ab cd " * 40_000


def write(path: Path, kind: str) -> None:
    """N_ROWS rows of one text of 240 KB, 120 MB in all, in a few kilobytes."""
    pa: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    column = pa.DictionaryArray.from_arrays(pa.array([0] * N_ROWS, pa.int32()), pa.array([TEXT]))
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 24, "data_page_size": 1 << 24}
    if kind == "late":
        # After short texts, by which the number of rows would be chosen.
        column = pa.DictionaryArray.from_arrays(
            pa.array([0] * 5000 + [1] * N_ROWS, pa.int32()), pa.array(["short", TEXT])
        )
    elif kind == "view":
        # The length of a text, its first bytes, and where it is: in buffer 0, from byte 0 on.
        view = len(TEXT).to_bytes(4, "little") + TEXT[:4].encode() + bytes(8)
        buffers = [None, pa.py_buffer(view * N_ROWS), pa.py_buffer(TEXT.encode())]
        column = pa.Array.from_buffers(pa.string_view(), N_ROWS, buffers)
    elif kind == "prefix":
        column = pa.array([TEXT] * N_ROWS)
        options |= {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    elif kind in ("list", "struct"):
        column = pa.array([[{"t": TEXT}] if kind == "list" else {"t": TEXT}] * N_ROWS)
    table = pa.table({"text": column})
    if path.suffix == ".parquet":
        parquet.write_table(table, path, **options)
        return
    with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.parquet", kind) for kind in ("plain", "late", "list", "struct", "prefix")]
    + [("a.arrow", kind) for kind in ("plain", "late", "view")],
)
def test_a_text_that_many_rows_repeat_takes_little_memory(tmp_path: Path, name: str, kind: str) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    write(tmp_path / name, kind)
    assert (tmp_path / name).stat().st_size < 300_000
    field = {"list": "text[].t", "struct": "text.t"}.get(kind, "text")
    before, held, n_long = pa.total_allocated_bytes(), [], 0
    for block in Corpus(tmp_path / name, text_field=field).read(memory=16_000_000, piece_bytes=1 << 16):
        held.append(pa.total_allocated_bytes() - before)
        n_long += block.documents.n_bytes // (1 << 15)
    assert max(held) < 6_000_000
    assert n_long > N_ROWS * len(TEXT) // (1 << 16)


def test_dictionaries_give_the_documents_of_plain_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairloom.corpus.columns._MOST_DECODED", 1000)
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 300)
    pa: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    texts = [None if n % 7 == 3 else "long text " * (n % 11) for n in range(200)]
    table = pa.table(
        {
            "text": pa.array(texts).dictionary_encode(),
            "in": pa.array([{"a": text} for text in texts]),
            "list": pa.array([[text, "x"] for text in texts]),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=50)
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=60)
    for name in ("a.parquet", "a.arrow"):
        expected = [text for text in texts if text is not None]
        assert list(Corpus(tmp_path / name, skip_bad=True)) == expected
        assert list(Corpus(tmp_path / name, skip_bad=True, text_field="in.a")) == expected
        both = [part for text in texts for part in ([text, "x"] if text is not None else ["x"])]
        assert list(Corpus(tmp_path / name, skip_bad=True, text_field="list[]")) == both
        with pytest.raises(CorpusError, match="row 3: the text is null"):
            list(Corpus(tmp_path / name))
