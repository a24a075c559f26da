"""A lack of memory while Parquet or Arrow is read is a MemoryError: the file is sound, and must not be left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, PretokenCounts


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_file_that_finds_no_memory_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, skips: bool
) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / f"a{suffix}"
    table = pyarrow.table({"text": ["ab", "the cat"]})
    if suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    def refused(*_: object, **__: object) -> None:
        raise pyarrow.ArrowMemoryError("malloc of size 4096 failed")

    monkeypatch.setattr(parquet, "ParquetFile", refused)
    monkeypatch.setattr(pyarrow.ipc, "open_file", refused)
    with pytest.raises(MemoryError, match="malloc"):
        list(Corpus(path, skip_bad_files=skips, skip_bad=skips))


def test_counts_that_find_no_memory_are_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "counts.parquet"
    PretokenCounts.from_texts(["ab ab"]).save(path)

    def refused(*_: object, **__: object) -> None:
        raise pyarrow.ArrowMemoryError("malloc of size 4096 failed")

    monkeypatch.setattr(parquet, "ParquetFile", refused)
    with pytest.raises(MemoryError, match="malloc"):
        PretokenCounts.load(path)
