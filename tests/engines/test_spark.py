"""Spark on two local workers, started and stopped here: counts, merges and ids of a single process."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pairloom import PretokenCounts, open_shards
from tests.engines.corpora import COUNTS, IDS, TEXTS, TOKENIZER, same_counts

pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("java is not installed", allow_module_level=True)
engine = pytest.importorskip("pairloom.engines.spark", exc_type=ImportError, reason="pyspark is not installed")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.SparkSession.builder.master("local[2,2]").appName("pairloom")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _frame(spark: Any, n_partitions: int) -> Any:
    rows = list(enumerate(TEXTS))
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, n_partitions), "n int, text string")


@pytest.mark.parametrize("n_partitions", [1, 2, 7, 40])
def test_counts_and_merges_are_those_of_one_process(spark: Any, tmp_path: Path, n_partitions: int) -> None:
    counted = engine.count_pretokens(_frame(spark, n_partitions), "cl100k")
    assert [field.dataType.simpleString() for field in counted.schema] == ["binary", "bigint"]
    assert same_counts(engine.counts_from_spark(counted, "cl100k"))
    assert same_counts(engine.collect_counts(_frame(spark, n_partitions), "cl100k"))
    if n_partitions == 7:
        counted.write.parquet(str(tmp_path / "counts"))
        assert dict(PretokenCounts.from_parquet(tmp_path / "counts", "cl100k").items()) == dict(COUNTS.items())


def test_counts_of_a_nested_field_are_those_of_its_column(spark: Any) -> None:
    frame = _frame(spark, 2).selectExpr("struct(n, text) as doc")
    assert same_counts(engine.collect_counts(frame, "cl100k", text_field="doc.text"))
    counted = engine.count_pretokens(frame, "cl100k", text_field="doc.text")
    assert same_counts(engine.counts_from_spark(counted, "cl100k"))


def test_a_column_of_ids_that_is_there_already_is_refused(spark: Any) -> None:
    with pytest.raises(ValueError, match="there is already a column 'n'; pass another name with column"):
        engine.encode_text(_frame(spark, 2), TOKENIZER, column="n")
    rows = engine.encode_text(_frame(spark, 2), TOKENIZER, column="text", keep=False).collect()
    assert [row["text"] for row in rows] == IDS


def test_counts_are_collected_where_spark_connect_has_no_rdd(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = _frame(spark, 3)
    utils = SimpleNamespace(is_remote=lambda: True)
    monkeypatch.setattr("pairloom.engines.spark_counts._utils", utils)
    monkeypatch.setattr(type(frame), "rdd", None)
    assert same_counts(engine.collect_counts(frame, "cl100k"))


@pytest.mark.parametrize("n_partitions", [1, 7])
def test_ids_are_those_of_one_process_document_by_document(spark: Any, n_partitions: int) -> None:
    encoded = engine.encode_text(_frame(spark, n_partitions), TOKENIZER, keep=False)
    assert encoded.columns == ["n", "input_ids"]
    rows = sorted(encoded.collect(), key=lambda row: int(row["n"]))
    assert [row["input_ids"] for row in rows] == IDS


def test_shards_are_committed_once(spark: Any, tmp_path: Path) -> None:
    model, folder = tmp_path / "model.json", tmp_path / "shards"
    TOKENIZER.save(model)
    spark.dataSource.register(engine.PairloomDataSource)

    frame = _frame(spark, 7)
    frame.write.format("pairloom").mode("append").option("model", str(model)).save(str(folder))
    assert [document.tolist() for document in open_shards(folder)] == IDS
    assert not list(folder.glob(".*"))
    again = _frame(spark, 2).write.format("pairloom").option("model", str(model))
    with pytest.raises(Exception, match="is not empty"):
        again.mode("append").save(str(folder))
    again.mode("overwrite").option("shard_tokens", "300").save(str(folder))
    assert [document.tolist() for document in open_shards(folder)] == IDS


def test_a_killed_worker_neither_loses_nor_doubles_documents(spark: Any, tmp_path: Path) -> None:
    model, folder, killed = tmp_path / "model.json", tmp_path / "shards", tmp_path / "killed"
    TOKENIZER.save(model)
    spark.dataSource.register(engine.PairloomDataSource)

    def die_once(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if TEXTS[150] in batch.column("text").to_pylist() and not killed.exists():
                killed.write_text("")
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    frame = _frame(spark, 7).mapInArrow(die_once, "n int, text string")
    frame.write.format("pairloom").mode("append").option("model", str(model)).save(str(folder))
    assert killed.exists() and not list(folder.glob(".*"))
    assert [document.tolist() for document in open_shards(folder)] == IDS


def test_a_missing_column_and_bad_text_are_errors(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="body"):
        engine.encode_text(_frame(spark, 1), TOKENIZER, text_field="body")
    with pytest.raises(Exception, match="body"):
        engine.count_pretokens(_frame(spark, 1), text_field="body").collect()
    with pytest.raises(Exception, match="body"):
        engine.collect_counts(_frame(spark, 1), text_field="body")
    model, folder = tmp_path / "model.json", tmp_path / "shards"
    TOKENIZER.save(model)
    spark.dataSource.register(engine.PairloomDataSource)
    frame = spark.createDataFrame([(1, "ab"), (2, None)], "n int, text string").coalesce(1)
    writer = frame.write.format("pairloom").mode("append").option("model", str(model))
    with pytest.raises(Exception, match=r"texts: row 1: the text is null"):
        writer.save(str(folder))
    assert not list(folder.glob("[!.]*"))
    with pytest.raises(Exception, match="no column 'body'"):
        writer.option("text_field", "body").save(str(folder))


def test_an_output_that_cannot_be_written_fails_at_once(spark: Any, tmp_path: Path) -> None:
    model, folder = tmp_path / "model.json", tmp_path / "shards"
    TOKENIZER.save(model)
    spark.dataSource.register(engine.PairloomDataSource)

    def fail(documents: Any) -> Any:
        raise RuntimeError("a task was run")

    def refused(match: str, column: str = "text string", place: Path = folder, **options: str) -> None:
        frame = spark.createDataFrame([(1, None)], f"n int, {column}").mapInArrow(fail, f"n int, {column}")
        writer = frame.write.format("pairloom").mode("append").option("model", str(model)).options(**options)
        with pytest.raises(Exception, match=match):
            writer.save(str(place))

    refused("column 'text' is int, not string or binary", "text int")
    refused("column 'text' is array<string>, not string or binary", "text array<string>")
    refused("unexpected keyword argument 'shards'", shards="3")
    refused("'many'", shard_tokens="many")
    refused("skip_bad must be True or False, not str", skip_bad="yes")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine.txt").write_text("mine")
    refused("is not empty: it contains mine.txt", place=tmp_path / "used")
    refused("is not a folder", place=model)
    assert not folder.exists() and [path.name for path in (tmp_path / "used").iterdir()] == ["mine.txt"]


def test_nulls_are_left_out_and_counted_on_request(spark: Any, tmp_path: Path) -> None:
    model, folder = tmp_path / "model.json", tmp_path / "shards"
    TOKENIZER.save(model)
    spark.dataSource.register(engine.PairloomDataSource)
    frame = spark.createDataFrame([(TEXTS[0],), (None,)], "text string")
    frame.write.format("pairloom").mode("append").option("model", str(model)).option("skip_bad", "true").save(
        str(folder)
    )
    assert [document.tolist() for document in open_shards(folder)] == [IDS[0]]


def test_what_cannot_be_counted_is_named(spark: Any) -> None:
    for count in (engine.collect_counts, engine.count_pretokens):
        with pytest.raises(Exception, match="the column has type int32, not string or binary"):
            count(spark.createDataFrame([(1,)], "text int")).count()
        with pytest.raises(TypeError, match="unexpected keyword argument 'files'"):
            count(_frame(spark, 1), files=3)
        empty = count(spark.createDataFrame([], "text string"))
        assert (len(empty) if count is engine.collect_counts else empty.count()) == 0
