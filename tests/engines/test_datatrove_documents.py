"""datatrove: documents that stay in Arrow's buffers are those of its own reader, and count and tokenize as they do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts
from tests.engines.corpora import COUNTS, TEXTS, TOKENIZER, same_counts

engine = pytest.importorskip("pairloom.engines.datatrove", exc_type=ImportError, reason="datatrove is not installed")
data = pytest.importorskip("datatrove.data", reason="datatrove is not installed")
base: Any = pytest.importorskip("datatrove.pipeline.base", reason="datatrove is not installed")
executor = pytest.importorskip("datatrove.executor", reason="datatrove is not installed")
readers = pytest.importorskip("datatrove.pipeline.readers", reason="datatrove is not installed")
tokens = pytest.importorskip("datatrove.pipeline.tokens", reason="datatrove is not installed")
pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")


def _write(folder: Path, n_parts: int, kind: Any = None, **columns: list[Any]) -> str:
    """The texts as Parquet in `n_parts` files."""
    folder.mkdir()
    for part in range(n_parts):
        table = {"text": pyarrow.array(TEXTS[part::n_parts], kind or pyarrow.string())}
        parquet.write_table(pyarrow.table(table | columns), folder / f"{part}.parquet")
    return str(folder)


def _documents(reader: Any, rank: int = 0, world_size: int = 1) -> list[Any]:
    return list(reader.run(None, rank, world_size))


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 7, "skip": 3, "limit": 20},
        {"read_metadata": False, "id_key": "name"},
        {"text_key": "other", "default_metadata": {"date": "today", "n": 0}},
        {"text_key": "missing"},
    ],
    ids=str,
)
def test_documents_and_statistics_are_those_of_its_own_reader(
    tmp_path: Path, options: dict[str, Any], kind: str
) -> None:
    texts = ["ab", None, "", "é 東京", "a" * 5000, "ab"] * 20
    table = {
        "text": pyarrow.array(texts, getattr(pyarrow, kind)()),
        "other": texts[::-1],
        "name": [f"number {n}" for n in range(120)],
        "n": list(range(120)),
        "metadata": ['{"lang": "en"}', "no JSON", None] * 40,
        "token_count": [None, 3] * 60,
    }
    for part in range(2):
        (tmp_path / "parts" / "deeper").mkdir(parents=True, exist_ok=True)
        parquet.write_table(pyarrow.table(table), tmp_path / "parts" / "deeper" / f"{part}.parquet")
    theirs, ours = (
        cls(str(tmp_path / "parts"), **options) for cls in (readers.ParquetReader, engine.PairloomParquetReader)
    )
    expected, found = _documents(theirs), _documents(ours)
    assert [dataclasses.asdict(document) for document in found] == [dataclasses.asdict(d) for d in expected]
    assert [list(document.metadata) for document in found] == [list(document.metadata) for document in expected]
    assert expected or options == {"text_key": "missing"}
    del theirs.stats.time_stats, ours.stats.time_stats
    assert ours.stats.stats.to_dict() == theirs.stats.stats.to_dict()


def test_media_and_adapted_rows_equal_those_of_its_own_reader(tmp_path: Path) -> None:
    media = [[{"id": "a", "type": 0, "url": "u"}], []]
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet.write_table(pyarrow.table({"text": ["ab", "cd"], "media": media}), folder / "0.parquet")

    def adapter(self: Any, row: dict[str, Any], path: str, number: int) -> dict[str, Any]:
        return {"text": row["text"].upper(), "id": f"{path} {number}", "metadata": {}}

    for options in ({}, {"adapter": adapter}):
        theirs, ours = (cls(str(folder), **options) for cls in (readers.ParquetReader, engine.PairloomParquetReader))
        assert _documents(ours) == _documents(theirs)


def test_a_document_is_one_of_datatrove_wherever_it_goes(tmp_path: Path) -> None:
    folder = _write(tmp_path / "parts", 1)
    (first, second, *_) = _documents(engine.PairloomParquetReader(folder))
    (expected, other, *_) = _documents(readers.ParquetReader(folder))
    assert isinstance(first, data.Document)
    assert first == expected and expected == first and first != other and first != "ab"
    for copied in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first), dataclasses.replace(first)):
        assert copied == expected
    # Only the text of the document itself goes to another process.
    assert len(pickle.dumps(first)) < 1000
    assert dataclasses.replace(first, text="other").text == "other"
    assert repr(first).replace("ArrowDocument", "Document") == repr(expected)
    second.text += "!"
    assert second.text == other.text + "!"


class _Changes(base.PipelineStep):  # type: ignore[misc]
    """A step that leaves documents out, changes some, and puts one in."""

    name, type = "changes", "changes"

    def run(self, data_: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        for number, document in enumerate(data_):
            if number % 5 == 1:
                continue
            if number % 7 == 2:
                document.text = document.text.upper()
            yield document
        yield data.Document(text="the last", id="last")


def _changed(texts: list[str]) -> list[str]:
    kept = [text.upper() if n % 7 == 2 else text for n, text in enumerate(filter(None, texts)) if n % 5 != 1]
    return [*kept, "the last"]


@pytest.mark.parametrize("tasks", [1, 2, 7])
@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_counts_are_those_of_one_process(tmp_path: Path, tasks: int, kind: str) -> None:
    reader = engine.PairloomParquetReader(_write(tmp_path / "parts", 7, getattr(pyarrow, kind)()), batch_size=11)
    counter = engine.PretokenCounter(str(tmp_path / "counts"), "cl100k", batch_size=4)
    executor.LocalPipelineExecutor(
        [reader, counter], tasks=tasks, workers=min(tasks, 2), logging_dir=str(tmp_path / "logs")
    ).run()
    paths = sorted((tmp_path / "counts").glob("*.parquet"))
    assert len(paths) == tasks
    counts = PretokenCounts.merged(map(PretokenCounts.load, paths))
    assert same_counts(counts) and counts.n_bytes == COUNTS.n_bytes


def test_documents_that_no_step_reads_are_counted_without_a_str(tmp_path: Path) -> None:
    counter = engine.PretokenCounter(str(tmp_path / "counts"))
    documents = list(counter.run(engine.PairloomParquetReader(_write(tmp_path / "parts", 1)).run()))
    assert len(documents) == sum(map(bool, TEXTS))
    assert {document._text for document in documents} == {None}


def test_documents_that_steps_change_are_counted_as_changed(tmp_path: Path) -> None:
    reader = engine.PairloomParquetReader(_write(tmp_path / "parts", 1), batch_size=50)
    counter = engine.PretokenCounter(str(tmp_path / "counts"), "cl100k")
    list(counter.run(_Changes().run(reader.run())))
    found = PretokenCounts.load(tmp_path / "counts" / "00000.parquet")
    assert dict(found.items()) == dict(PretokenCounts.from_texts(_changed(TEXTS), "cl100k").items())
    # Whatever order they come in.
    documents = _documents(engine.PairloomParquetReader(str(tmp_path / "parts")))
    list(engine.PretokenCounter(str(tmp_path / "turned"), "cl100k").run(documents[::-1]))
    assert same_counts(PretokenCounts.load(tmp_path / "turned" / "00000.parquet"))


@pytest.mark.parametrize(
    "options", [{"shuffle_documents": False}, {"seed": 3}, {"seed": 3, "save_loss_metadata": True}], ids=str
)
def test_files_equal_those_of_its_own_tokenizer(tmp_path: Path, options: dict[str, Any]) -> None:
    folder = _write(tmp_path / "parts", 3)
    TOKENIZER.save(tmp_path / "tokenizer.json", format="huggingface")
    written = []
    for reader, step, more in (
        (readers.ParquetReader, tokens.DocumentTokenizer, {}),
        (engine.PairloomParquetReader, engine.PairloomTokenizer, {"specials": "recognise"}),
    ):
        out = tmp_path / step.__name__
        tokenizer = step(str(out), str(tmp_path / "tokenizer.json"), batch_size=50, **options, **more)
        steps = [reader(folder, batch_size=64), _Changes(), tokenizer]
        executor.LocalPipelineExecutor(steps, tasks=2, logging_dir=str(tmp_path / f"log{step.__name__}")).run()
        written.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert written[0] == written[1] and any(written[0].values())


def test_text_that_is_not_utf8_is_one_error(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    texts = pyarrow.array([b"ab", b"\xff\xfe"], pyarrow.binary()).view(pyarrow.string())
    parquet.write_table(pyarrow.table({"text": texts}), folder / "0.parquet")
    with pytest.raises(UnicodeDecodeError, match="invalid start byte"):
        list(engine.PretokenCounter(str(tmp_path / "out")).run(engine.PairloomParquetReader(str(folder)).run()))
    assert not (tmp_path / "out" / "00000.parquet").exists()
