"""Running out of memory while reading Parquet or Arrow is a MemoryError: the file is intact and must not be skipped."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from pairloom import Corpus, CorpusError, CountsError, PretokenCounts
from tests.corpus.files import write_arrow, write_parquet
from tests.soak.isolation import run_cases


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """After a given call, opening Parquet or Arrow fails to allocate this many bytes."""

    def begin(n_bytes: int) -> None:
        def refused(*_: object, **__: object) -> None:
            raise pyarrow.ArrowMemoryError(f"malloc of size {n_bytes} failed")

        monkeypatch.setattr(parquet, "ParquetFile", refused)
        monkeypatch.setattr(pyarrow.ipc, "open_file", refused)

    return begin


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("write", [write_parquet, write_arrow])
def test_a_file_that_finds_no_memory_is_not_called_damaged(
    tmp_path: Path, refuse: Callable[[int], None], write: Callable[[Path, list[str]], None], skips: bool
) -> None:
    path = tmp_path / ("a.parquet" if write == write_parquet else "a.arrow")
    write(path, ["ab", "the cat"])
    refuse(4096)
    with pytest.raises(MemoryError, match="malloc"):
        list(Corpus(path, skip_bad_files=skips, skip_bad=skips))


def test_counts_that_find_no_memory_are_damaged_only_if_they_ask_for_all(
    tmp_path: Path, refuse: Callable[[int], None]
) -> None:
    path = tmp_path / "counts.parquet"
    PretokenCounts.from_texts(["ab ab"]).save(path)
    refuse(4096)
    with pytest.raises(MemoryError, match="malloc"):
        PretokenCounts.load(path)
    refuse(1 << 60)
    with pytest.raises(CountsError, match=r"counts\.parquet: .* the file is damaged"):
        PretokenCounts.load(path)


@pytest.mark.parametrize("name", ["counts.parquet", "corpus.parquet"])
def test_no_damaged_number_takes_all_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "counts.parquet":
        PretokenCounts.from_texts(["ab ab the cat sat on the mat"]).save(path)
    else:
        write_parquet(path, ["ab", "the cat"] * 20)
    sound = path.read_bytes()
    # A footer's integers are varints (seven bits per byte), preceded by their type, 5 or 6.
    number = b"\xfe\xff\xff\xff\xff\x7f"
    places = [at for at in range(1, len(sound) - len(number)) if sound[at - 1] & 15 in (5, 6)]

    def case(which: int) -> bool:
        at = places[which]
        path.write_bytes(sound[:at] + number + sound[at + len(number) :])
        with suppress(CorpusError, CountsError):
            PretokenCounts.load(path) if name == "counts.parquet" else list(Corpus(path))
        return True

    for which, outcome in run_cases(case, len(places)):
        assert outcome.result and outcome.n_bytes < 200 << 20, (places[which], outcome)
