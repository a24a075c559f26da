"""Columns whose memory holds a text once for many rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError


def test_dictionaries_give_the_documents_of_plain_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
