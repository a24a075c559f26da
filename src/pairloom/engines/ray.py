"""Ray: counts of files and datasets, a map over batches of text, a writer of shards. Needs the extra [ray].

Each task asks Ray for one CPU and uses one thread. For files `count_files` is cheaper: its tasks read them themselves,
and only counts go through the object store. To run `EncodeText` in actors, use a pool that leaves processors free
(`concurrency=(1, n - 1)`): a pool with as many actors as processors starves Ray's own listing of files, which then
waits forever.
"""

import os
from collections.abc import Iterable
from typing import Any

from pairloom._internal.arguments import check_choice, check_int, check_paths
from pairloom._internal.optional_deps import import_optional
from pairloom.corpus import Corpus
from pairloom.counts.pretoken_counts import CountBuilder, PretokenCounts
from pairloom.engines.ray_blocks import block_results
from pairloom.engines.shared import column_of, kept_names, specials_options
from pairloom.model import Pattern
from pairloom.shards.job import Receipt, ShardJob
from pairloom.shards.manifest import Manifest
from pairloom.tokenizer import Tokenizer, check_tokenizer

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def count_pretokens(
    ds: Any, pattern: Pattern = "gpt2", *, text_field: str = "text", max_memory: int | None = None, **options: Any
) -> PretokenCounts:
    """Counts a column of a Dataset: a task counts a block, the driver adds results as they come; leaves out nulls.

    options: special_tokens, corpus_specials. max_memory: bytes that the driver's sum may take.
    """
    builder = CountBuilder(pattern, threads=0, max_memory=max_memory, **options)

    def count(table: Any) -> PretokenCounts:
        part = CountBuilder(pattern, threads=1, **options)
        part.add_arrow(column_of(table, text_field))
        return part.finish()

    for counts in block_results(ds, count):
        builder.add_counts(counts)
    return builder.finish()


def count_files(
    paths: Paths,
    pattern: Pattern = "gpt2",
    *,
    files_per_task: int = 1,
    max_memory: int | None = None,
    reading: dict[str, Any] | None = None,
    **options: Any,
) -> PretokenCounts:
    """Counts files, `files_per_task` in each task; the driver adds the counts as they come.

    reading: options of `Corpus` (text_field, skip_bad, ...). options: special_tokens, corpus_specials. Raises what
    reading a file raises.
    """
    ray = import_optional("ray", "pairloom.engines.ray")
    check_int("files_per_task", files_per_task, least=1)
    files = check_paths(paths)
    if not files:
        raise ValueError("no files to count; pass at least one")
    builder = CountBuilder(pattern, threads=0, max_memory=max_memory, **options)

    def count(some: list[str]) -> PretokenCounts:
        return PretokenCounts.from_texts(Corpus(some, **(reading or {})), pattern, threads=1, **options)

    task = ray.remote(count)
    waiting = [task.remote(files[first : first + files_per_task]) for first in range(0, len(files), files_per_task)]
    while waiting:
        (done,), waiting = ray.wait(waiting, num_returns=1)
        try:
            builder.add_counts(ray.get(done))
        except ray.exceptions.RayTaskError as error:
            for other in waiting:
                ray.cancel(other)
            raise error.cause or error from None
    return builder.finish()


class EncodeText:
    """Adds a column of lists of ids; for `ds.map_batches(EncodeText(...), batch_format="pyarrow")`.

    A null stays a null. keep: whether to keep the text column. specials: as in `tokenize_files`. Use it as a function
    or, as a class with fn_constructor_args, in a pool of actors. Raises CorpusError naming a column that is missing.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        text_field: str = "text",
        column: str = "input_ids",
        keep: bool = True,
        specials: str = "ordinary",
    ) -> None:
        self._tokenizer = check_tokenizer("tokenizer", tokenizer)
        self._text_field, self._column, self._keep = text_field, column, keep
        self._options = specials_options(specials)

    def __call__(self, table: Any) -> Any:
        """Returns the table with the column of ids."""
        ids = self._tokenizer.encode_arrow(column_of(table, self._text_field), threads=1, **self._options)
        names = kept_names(table.column_names, self._text_field, self._column, self._keep)
        return table.select(names).append_column(self._column, ids)


def write_tokens(
    ds: Any,
    path: str | os.PathLike[str],
    tokenizer: Tokenizer,
    *,
    format: str = "npy",
    mode: str = "error",
    text_field: str = "text",
    **options: Any,
) -> Manifest:
    """Writes a Dataset as one folder of shards, one task for each block, committed once by the driver.

    A task that Ray runs twice counts once. If the driver is killed, nothing counts, so a rerun neither loses nor
    doubles a document (`ds.write_parquet` adds to what a killed run left). mode: "error" refuses a folder in use,
    "overwrite" replaces the shards in it. options: of `ShardJob`. Documents are in the order of the blocks.
    """
    check_choice("mode", mode, ("error", "overwrite"))
    with ShardJob(
        path, tokenizer, format=format, text_field=text_field, overwrite=mode == "overwrite", **options
    ) as job:
        task = job.task

        def write(table: Any) -> Receipt:
            column_of(table, text_field)
            return task.write([table])

        return job.commit(list(block_results(ds, write, in_order=True)))
