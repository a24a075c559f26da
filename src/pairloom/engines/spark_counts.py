"""Spark: the functions that count, which `pairloom.engines.spark` exports.

A row of a DataFrame costs the JVM far more than a pretoken costs the core. So `collect_counts`, whose rows are whole
tables of counts, takes half the time of a DataFrame of pretokens.
"""

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from pairloom._internal.optional_deps import import_optional
from pairloom.counts.pretoken_counts import CountBuilder, PretokenCounts
from pairloom.engines.shared import column_of
from pairloom.model import Pattern

_PURPOSE = "pairloom.engines.spark"
_functions: Any = import_optional("pyspark.sql.functions", _PURPOSE)
_utils: Any = import_optional("pyspark.sql.utils", _PURPOSE)

# Tables that one task adds; a smaller number leaves more of them to the driver.
_FAN_IN = 16


def collect_counts(
    df: Any, pattern: Pattern = "gpt2", *, text_field: str = "text", max_memory: int | None = None, **options: Any
) -> PretokenCounts:
    """Returns the counts of a column: each partition counts, workers add 16 partitions each, the driver adds the rest.

    Nulls are left out. max_memory: bytes that the driver's sum may take. options: special_tokens, corpus_specials. To
    keep the counts as a table, or if the driver cannot hold them, use `count_pretokens`.
    """
    builder = CountBuilder(pattern, threads=0, max_memory=max_memory, **options)

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        yield _row(_counted(batches, pattern, options))

    def add(batches: Iterable[Any]) -> Iterator[Any]:
        part = CountBuilder(pattern, threads=1, **options)
        for batch in batches:
            for pickled in batch.column("counts"):
                part.add_counts(pickle.loads(pickled.as_buffer()))
        yield _row(part.finish())

    parts = df.select(text_field).mapInArrow(count, "counts binary")
    # Spark Connect does not report the number of partitions.
    n_partitions = _FAN_IN**2 if _utils.is_remote() else parts.rdd.getNumPartitions()
    if n_partitions > _FAN_IN:
        parts = parts.repartition(-(-n_partitions // _FAN_IN)).mapInArrow(add, "counts binary")
    for row in parts.collect():
        builder.add_counts(pickle.loads(row["counts"]))
    return builder.finish()


def _counted(batches: Iterable[Any], pattern: Pattern, options: dict[str, Any]) -> PretokenCounts:
    """Counts a partition; its one column is found by position, since Spark names a nested field by its last part."""
    builder = CountBuilder(pattern, threads=1, **options)
    for batch in batches:
        builder.add_arrow(column_of(batch, batch.schema.names[0]))
    return builder.finish()


def _row(counts: PretokenCounts) -> Any:
    """Returns a record batch with one row, the pickled counts."""
    pyarrow = import_optional("pyarrow", _PURPOSE)
    return pyarrow.RecordBatch.from_pydict({"counts": pyarrow.array([pickle.dumps(counts)], pyarrow.binary())})


def count_pretokens(df: Any, pattern: Pattern = "gpt2", *, text_field: str = "text", **options: Any) -> Any:
    """Returns a DataFrame of pretoken (binary) and count (bigint): partitions count, Spark sums; nulls are left out.

    options: special_tokens, corpus_specials. `counts_from_spark` makes PretokenCounts from it; or write it as Parquet
    and read that with `PretokenCounts.from_parquet`.
    """
    CountBuilder(pattern, threads=1, **options)

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        pyarrow = import_optional("pyarrow", _PURPOSE)
        counts = _counted(batches, pattern, options)
        kind = pyarrow.schema([("pretoken", pyarrow.binary()), ("count", pyarrow.int64())])
        table = pyarrow.table(counts.to_arrow()).replace_schema_metadata(None)
        yield from table.cast(kind).to_batches(max_chunksize=1 << 16)

    parts = df.select(text_field).mapInArrow(count, "pretoken binary, count bigint")
    return parts.groupBy("pretoken").agg(_functions.sum("count").alias("count"))


def counts_from_spark(
    df: Any, pattern: Pattern = "gpt2", *, max_memory: int | None = None, **options: Any
) -> PretokenCounts:
    """Makes PretokenCounts from a DataFrame of `count_pretokens`; pass the pattern and options it was counted with."""
    builder = CountBuilder(pattern, max_memory=max_memory, **options)
    builder.add_counts(df.select("pretoken", "count").toArrow())
    return builder.finish()
