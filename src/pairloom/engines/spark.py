"""Spark: counts and ids of a column in Arrow batches, and a data source that writes shards. Needs the extra [spark].

Batches go to Python workers and back as Arrow, without a Python object for each row. Spark has no unsigned integers and
no large lists, so ids are array<int>. Needs Java 17 or later and PySpark 4.
"""

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from pairloom._internal.optional_deps import import_optional
from pairloom.engines.shared import column_of, kept_names, specials_options
from pairloom.engines.spark_counts import collect_counts, count_pretokens, counts_from_spark
from pairloom.shards.job import Receipt, ShardJob
from pairloom.tokenizer import Tokenizer, check_tokenizer

__all__ = ["PairloomDataSource", "collect_counts", "count_pretokens", "counts_from_spark", "encode_text"]

_PURPOSE = "pairloom.engines.spark"
_types: Any = import_optional("pyspark.sql.types", _PURPOSE)
_datasource: Any = import_optional("pyspark.sql.datasource", _PURPOSE)
_DataSource: Any = _datasource.DataSource
_Writer: Any = _datasource.DataSourceArrowWriter
_Message: Any = _datasource.WriterCommitMessage


def encode_text(
    df: Any,
    tokenizer: Tokenizer,
    *,
    text_field: str = "text",
    column: str = "input_ids",
    keep: bool = True,
    specials: str = "ordinary",
) -> Any:
    """Returns the DataFrame with a column of ids, array<int>; a null stays a null.

    keep: whether to keep the text column. specials: as in `tokenize_files`. Raises Spark's AnalysisException for a
    missing column.
    """
    check_tokenizer("tokenizer", tokenizer)
    options = specials_options(specials)
    df.select(text_field)
    names = kept_names(df.columns, text_field, column, keep)

    def encode(batches: Iterable[Any]) -> Iterator[Any]:
        pyarrow = import_optional("pyarrow", _PURPOSE)
        kind = pyarrow.list_(pyarrow.int32())
        for batch in batches:
            ids = tokenizer.encode_arrow(column_of(batch, text_field), type=kind, threads=1, **options)
            columns = [*(batch.column(name) for name in names), ids]
            yield pyarrow.RecordBatch.from_arrays(columns, names=[*names, column])

    schema = df.select(*names).schema.add(column, _types.ArrayType(_types.IntegerType()))
    return df.mapInArrow(encode, schema)


class PairloomDataSource(_DataSource):  # type: ignore[misc]
    """Writes a DataFrame as one folder of shards.

    `spark.dataSource.register(PairloomDataSource)`, then
    `df.select("text").write.format("pairloom").mode("append").option("model", path).save(folder)`. Options: model (a
    file that `Tokenizer.load` reads, on every machine), text_field, and format, eot, bos, specials, shard_tokens,
    input_errors and skip_bad of `ShardJob`. Mode "append" writes into a new or empty folder, "overwrite" replaces the
    shards in it. A partition that Spark runs twice counts once, and a job that fails leaves nothing that counts.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format."""
        return "pairloom"

    def writer(self, schema: Any, overwrite: bool) -> Any:
        """Returns the writer of a job."""
        options = dict(self.options)
        folder, model = options.pop("path", None), options.pop("model", None)
        if folder is None or model is None:
            raise ValueError("pass the folder to save(), and the tokenizer file with .option('model', path)")
        # Spark passes option names in lower case.
        options.setdefault("text_field", "text")
        if options["text_field"] not in schema.names:
            raise ValueError(
                f"no column {options['text_field']!r}; the columns are {schema.names}; choose it with text_field"
            )
        kind = schema[options["text_field"]].dataType
        if kind.typeName() not in ("string", "varchar", "char", "binary", "void"):
            raise ValueError(f"column {options['text_field']!r} is {kind.simpleString()}, not string or binary")
        # Spark passes all values as text.
        words = {"true": True, "false": False}
        parsed = {name: words.get(text, text) for name, text in options.items()}
        parsed |= {name: int(parsed[name]) for name in ("shard_tokens", "threads") if name in parsed}
        job = ShardJob(folder, Tokenizer.load(model), overwrite=overwrite, **parsed)
        # Fail before the work is done; the folder is claimed only when everything is written.
        job.check_folder()
        return _ShardWriter(job)


class _Written(_Message):  # type: ignore[misc]
    """A pickled receipt."""

    def __init__(self, receipt: Receipt) -> None:
        self.receipt = pickle.dumps(receipt)


class _ShardWriter(_Writer):  # type: ignore[misc]
    """Sends the job's task to the workers; the driver claims the folder when it commits."""

    def __init__(self, job: ShardJob) -> None:
        self.job = job

    def write(self, iterator: Iterator[Any]) -> Any:
        """Writes one partition."""
        return _Written(self.job.task.write(iterator))

    def commit(self, messages: list[Any]) -> None:
        """Commits the shards, once all partitions are written."""
        with self.job as job:
            job.commit([pickle.loads(message.receipt) for message in messages if message is not None])

    def abort(self, messages: list[Any]) -> None:
        """Removes what was written, if a partition failed for good."""
        self.job.discard()
