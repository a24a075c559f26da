"""Dask: one task for each file, or a function for the partitions of a data frame. Needs the extra [dask].

`count_files` returns a delayed object and runs nothing; `encode_files` computes with the scheduler that is set. So
scheduler, retries and dashboard are the caller's.
"""

import os
import sys
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

from pairloom._internal.arguments import check_int, check_paths
from pairloom._internal.optional_deps import import_optional
from pairloom.corpus import Corpus
from pairloom.counts.pretoken_counts import CountBuilder, PretokenCounts
from pairloom.engines.shared import specials_options
from pairloom.model import Pattern
from pairloom.shards.job import Receipt, ShardJob, ShardTask
from pairloom.shards.manifest import Manifest
from pairloom.tokenizer import Tokenizer

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# Counts that one task adds; a smaller number makes more tasks.
_FAN_IN = 8
# Bytes of local files per task. More tasks cost more, since each sends its counts and others add them. Tasks are
# smaller than the first number only to give each thread of the workers one, and never smaller than the second.
_TASK_BYTES = 256 << 20
_MIN_TASK_BYTES = 16 << 20


def _dask() -> Any:
    return import_optional("dask", "pairloom.engines.dask")


def count_files(
    paths: Paths, pattern: Pattern = "gpt2", *, files_per_task: int | None = None, threads: int = 1, **options: Any
) -> Any:
    """Returns a delayed PretokenCounts of files, summed in a tree of tasks; `.compute()` runs it.

    paths: as `Corpus` takes them. files_per_task: None makes tasks of about equal size, one for each thread of the
    workers, or more if tasks would exceed 256 MB; a folder or a URL is a task by itself. options: of `Corpus`
    (text_field, skip_bad, ...) and of `PretokenCounts.from_texts` (special_tokens, corpus_specials). A file that cannot
    be read raises in the task that reads it.
    """
    if files_per_task is not None:
        check_int("files_per_task", files_per_task, least=1)
    counting = {name: options.pop(name) for name in ("special_tokens", "corpus_specials") if name in options}
    files = check_paths(paths)
    if not files:
        raise ValueError("no files to count; pass at least one")
    delayed = _dask().delayed
    # Not pure: a cluster would return counts that it still holds, even if a file has changed since.
    count, add = delayed(_counted, pure=False), delayed(_sum_parts, pure=True)
    parts = [count(group, pattern, threads, options, counting) for group in _groups(files, files_per_task)]
    while len(parts) > 1:
        firsts = range(0, len(parts), _FAN_IN)
        parts = [add(parts[first : first + _FAN_IN], pattern, threads, counting) for first in firsts]
    return parts[0]


def _groups(files: list[str], files_per_task: int | None) -> list[list[str]]:
    if files_per_task is not None:
        return [files[first : first + files_per_task] for first in range(0, len(files), files_per_task)]
    sizes = [Path(file).stat().st_size if Path(file).is_file() else _TASK_BYTES for file in files]
    ends = list(accumulate(sizes))
    n_tasks = max(-(-ends[-1] // _TASK_BYTES), min(_n_threads(), ends[-1] // _MIN_TASK_BYTES), 1)
    # Give each task its share of the bytes: a small last task would leave a worker idle.
    share = max(ends[-1] / n_tasks, 1)
    groups: dict[int, list[str]] = {}
    for file, size, end in zip(files, sizes, ends, strict=True):
        groups.setdefault(int((end - size / 2) / share), []).append(file)
    return list(groups.values())


def _n_threads() -> int:
    """Returns how many tasks run at once: in the cluster of this process's current client, else on this machine."""
    distributed = sys.modules.get("distributed")
    try:
        client = distributed.default_client() if distributed else None
    except ValueError:
        client = None
    if client is None:
        return os.cpu_count() or 1
    # An asynchronous client can only be asked by code that awaits the answer.
    return 1 if client.asynchronous else sum(client.nthreads().values())


def _counted(
    files: list[str], pattern: Pattern, threads: int, reading: dict[str, Any], counting: dict[str, Any]
) -> PretokenCounts:
    return PretokenCounts.from_texts(Corpus(files, **reading), pattern, threads=threads, **counting)


def _sum_parts(parts: list[PretokenCounts], pattern: Pattern, threads: int, counting: dict[str, Any]) -> PretokenCounts:
    builder = CountBuilder(pattern, threads=threads, **counting)
    for part in parts:
        builder.add_counts(part)
    return builder.finish()


def encode_files(
    paths: Paths,
    folder: str | os.PathLike[str],
    tokenizer: Tokenizer,
    *,
    reading: dict[str, Any] | None = None,
    **options: Any,
) -> Manifest:
    """Encodes files, one task for each, into one folder of shards in the order of the files, and commits it.

    reading: options of `Corpus`. options: of `ShardJob`. Computes with the scheduler that is set. A rerun after any
    failure starts over; nothing is lost or doubled. Raises what reading a file raises, and FileExistsError for a folder
    in use.
    """
    dask = _dask()
    files = check_paths(paths)
    if not files:
        raise ValueError("no files to encode; pass at least one")
    with ShardJob(folder, tokenizer, **options) as job:
        # Send the tokenizer once, not with each task.
        task = dask.delayed(job.task, pure=True)
        write = dask.delayed(_write_shards, pure=False)
        receipts = dask.compute(*[write(task, file, number, reading or {}) for number, file in enumerate(files)])
        return job.commit(receipts)


def _write_shards(task: ShardTask, file: str, number: int, reading: dict[str, Any]) -> Receipt:
    return task.write_corpus(Corpus(file, **reading), number)


def encode_partition(
    frame: Any,
    tokenizer: Tokenizer,
    *,
    text_field: str = "text",
    column: str = "input_ids",
    specials: str = "ordinary",
    threads: int = 1,
) -> Any:
    """Returns the partition, a pandas.DataFrame, with a column of lists of ids; for `ddf.map_partitions`.

    A null stays a null. specials: as in `tokenize_files`. Raises KeyError if the column is missing, TypeError if it is
    not text.
    """
    pandas, pyarrow = import_optional("pandas", "encode_partition"), import_optional("pyarrow", "encode_partition")
    texts = pyarrow.array(frame[text_field], pyarrow.large_string(), from_pandas=True)
    ids = tokenizer.encode_arrow(texts, threads=threads, **specials_options(specials))
    return frame.assign(**{column: pandas.Series(pandas.arrays.ArrowExtensionArray(ids), index=frame.index)})
