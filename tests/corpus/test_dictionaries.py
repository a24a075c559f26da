"""Dictionary columns, which store a text once for many rows: only as many rows as memory allows are decoded at once."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from pairloom import Corpus, CorpusError
from tests.corpus.files import write_arrow


@pytest.mark.parametrize("kind", ["plain", "late", "list", "struct"])
def test_a_text_that_many_rows_repeat_takes_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """500 rows of one text of 240 KB, 120 MB in all, in a few kilobytes."""
    monkeypatch.setattr("pairloom.corpus.columns._MAX_DECODED_BYTES", 2_000_000)
    text = "ab cd " * 40_000
    column = pa.array([text] * 500)
    if kind == "late":  # after short texts, from which the number of rows would be chosen
        column = pa.array(["short"] * 5000 + [text] * 500)
    elif kind != "plain":
        column = pa.array([[{"t": text}] if kind == "list" else {"t": text}] * 500)
    options: dict[str, Any] = {"dictionary_pagesize_limit": 1 << 24, "data_page_size": 1 << 24}
    parquet.write_table(pa.table({"text": column}), tmp_path / "a.parquet", compression="zstd", **options)
    assert (tmp_path / "a.parquet").stat().st_size < 300_000
    field = {"list": "text[].t", "struct": "text.t"}.get(kind, "text")
    before, held, n_bytes = pa.total_allocated_bytes(), [], 0
    for block in Corpus(tmp_path / "a.parquet", text_field=field).read(piece_bytes=1 << 16):
        held.append(pa.total_allocated_bytes() - before)
        n_bytes += block.documents.n_bytes
    assert max(held) < 8_000_000 and n_bytes >= 500 * len(text)


def test_dictionaries_give_the_documents_of_plain_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairloom.corpus.columns._MAX_DECODED_BYTES", 1000)
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", 300)
    texts = [None if n % 7 == 3 else "long text " * (n % 11) for n in range(200)]
    table = pa.table(
        {
            "text": pa.array(texts).dictionary_encode(),
            "in": pa.array([{"a": text} for text in texts]),
            "list": pa.array([[text, "x"] for text in texts]),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=50)
    write_arrow(tmp_path / "a.arrow", table, stream=True, rows=60)
    for name in ("a.parquet", "a.arrow"):
        expected = [text for text in texts if text is not None]
        assert list(Corpus(tmp_path / name, skip_bad=True)) == expected
        assert list(Corpus(tmp_path / name, skip_bad=True, text_field="in.a")) == expected
        both = [part for text in texts for part in ([text, "x"] if text is not None else ["x"])]
        assert list(Corpus(tmp_path / name, skip_bad=True, text_field="list[]")) == both
        with pytest.raises(CorpusError, match="row 3: the text is null"):
            list(Corpus(tmp_path / name))


def test_categories_as_polars_writes_them(tmp_path: Path) -> None:
    """Their dictionary is a column of views."""
    texts = pa.array(["one", "a text that is longer than a view", "one"]).dictionary_encode()
    views = pa.DictionaryArray.from_arrays(texts.indices, texts.dictionary.cast(pa.string_view()))
    write_arrow(tmp_path / "a.arrow", pa.table({"text": views}), stream=False, rows=2)
    assert list(Corpus(tmp_path / "a.arrow")) == texts.to_pylist()


def test_rows_that_pyarrow_leaves_out_are_an_error(tmp_path: Path) -> None:
    column = pa.array([["a"], ["b", "a"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    # It reads nothing from a row group whose dictionary and values are in separate pages.
    parquet.write_table(pa.table({"text": column}), tmp_path / "a.parquet", row_group_size=1, data_page_size=1)
    with pytest.raises(
        CorpusError, match=r"only 0 of the 1 rows of row group 0 could be read; .* without dictionaries"
    ):
        list(Corpus(tmp_path / "a.parquet", text_field="text[]"))
