"""Processor seconds per additional GB of counting and tokenizing in each engine, and in one process on the same file.

    python benchmarks/engines.py TEXT FILE... [--only dask ray] [--megabytes 80] [--runs 3]

Each engine works with two workers on S and on 3 S bytes of the texts, cut into documents of about 4 KB; the difference
in processor seconds of all its processes, divided by 2 S, excludes the cost of starting. Each is the median of --runs.
A JVM compiles in its first minute, and Ray starts workers as blocks come, seconds each: both need more bytes
(mixed-2000.txt --megabytes 300), or starting counts as work. "single" is one process with one
thread, run in turn with each engine, and "times single" is the engine's time in multiples of it. One process with
two threads is the fairer baseline: two workers share a processor's caches and often its arithmetic units.
"HuggingFace" is the usual way to tokenize in that engine: `encode_batch` of the library tokenizers on the engine's
batches, on a quarter of the bytes, because it is slower. First its ids are compared with pairloom's, by document.
"reader" reads the text column and passes it to the worker's Python, which does nothing with it.

Seconds come from a control group if one can be made (root, cgroup v1), otherwise from waited-for children,
which misses most of Ray's and Spark's workers. Needs the groups dev and engines of pyproject.toml.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import itertools
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pairloom import Corpus, PretokenCounts, Tokenizer, cpu_tier, open_shards, tokenize_files

_PR_SET_CHILD_SUBREAPER = 36
_N_FILES = 8
_DOCUMENT = 4000
# As a share of the bytes that pairloom gets.
_HUGGINGFACE_SHARE = 4

# Tasks: pairloom counts and tokenizes, HuggingFace tokenizes, and the engine alone reads.
_COUNT, _TOKENIZE, _HUGGINGFACE, _READER = "count", "tokenize", "HuggingFace", "reader"


def _files(folder: str) -> list[str]:
    return sorted(str(path) for path in Path(folder).glob("*.parquet"))


_loaded: dict[str, Any] = {}


def _usual_ids(model: str, texts: Any) -> list[list[int]]:
    """Encodes a batch of texts as HuggingFace's documentation recommends; loads the tokenizer once."""
    import tokenizers

    if model not in _loaded:
        _loaded[model] = tokenizers.Tokenizer.from_file(model)
    return [encoding.ids for encoding in _loaded[model].encode_batch(list(texts), add_special_tokens=False)]


def _single(task: str, folder: str, models: Path, out: str, threads: int = 1) -> None:
    if task == _COUNT:
        PretokenCounts.from_texts(Corpus(_files(folder)), threads=threads)
    elif task == _TOKENIZE:
        tokenize_files(models / "model.json", _files(folder), out, threads=threads)
    elif task == _HUGGINGFACE:
        Path(out).mkdir()
        for number, file in enumerate(_files(folder)):
            _usual_file(str(models / "tokenizer.json"), file, f"{out}/{number}.parquet")
    else:
        for file in _files(folder):
            _read_file(file)


def _read_file(file: str) -> int:
    import pyarrow.parquet as pq

    return len(pq.read_table(file))


def _usual_file(model: str, file: str, out: str) -> None:
    import pandas

    frame = pandas.read_parquet(file)
    frame.assign(input_ids=_usual_ids(model, frame["text"]))[["input_ids"]].to_parquet(out)


def _threads(task: str, folder: str, models: Path, out: str) -> None:
    _single(task, folder, models, out, threads=2)


def _dask(task: str, folder: str, models: Path, out: str) -> None:
    from pairloom.engines import dask as engine

    dask: Any = importlib.import_module("dask")
    distributed: Any = importlib.import_module("distributed")

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        if task == _COUNT:
            engine.count_files(_files(folder)).compute()
        elif task == _TOKENIZE:
            engine.encode_files(_files(folder), out, Tokenizer.load(models / "model.json"))
        else:
            model = str(models / "tokenizer.json")
            Path(out).mkdir()
            read, write = dask.delayed(_read_file), dask.delayed(_usual_file)
            files = enumerate(_files(folder))
            if task == _READER:
                dask.compute([read(file) for _, file in files])
            else:
                dask.compute([write(model, file, f"{out}/{number}.parquet") for number, file in files])


def _ray(task: str, folder: str, models: Path, out: str) -> None:
    import ray

    from pairloom.engines import ray as engine

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=1 << 30)
    if task == _COUNT:
        engine.count_files(_files(folder))
    else:
        data = ray.data.read_parquet(_files(folder))
        model = str(models / "tokenizer.json")
        if task == _TOKENIZE:
            engine.write_tokens(data, out, Tokenizer.load(models / "model.json"))
        elif task == _HUGGINGFACE:

            def encoded(batch: dict[str, Any]) -> dict[str, Any]:
                return {"input_ids": _usual_ids(model, batch["text"])}

            data.map_batches(encoded).write_parquet(out)
        else:
            data.map_batches(lambda table: {"n": [len(table)]}, batch_format="pyarrow", batch_size=None).take_all()
    ray.shutdown()


def _spark(task: str, folder: str, models: Path, out: str, counts_rows: bool = False) -> None:
    from pyspark.sql import SparkSession

    from pairloom.engines import spark as engine

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    # As docs/guides/clusters.md recommends; Spark's defaults are 10,000 rows and 64 MB.
    session = builder.config("spark.sql.execution.arrow.maxBytesPerBatch", "1m").getOrCreate()
    frame = session.read.parquet(folder)
    model = str(models / "tokenizer.json")
    if task == _COUNT and counts_rows:
        engine.counts_from_spark(engine.count_pretokens(frame))
    elif task == _COUNT:
        engine.collect_counts(frame)
    elif task == _TOKENIZE:
        session.dataSource.register(engine.PairloomDataSource)
        frame.write.format("pairloom").mode("append").option("model", str(models / "model.json")).save(out)
    elif task == _HUGGINGFACE:

        def encoded(batches: Iterator[Any]) -> Iterator[Any]:
            import pandas

            for batch in batches:
                yield pandas.DataFrame({"input_ids": _usual_ids(model, batch["text"])})

        frame.mapInPandas(encoded, "input_ids array<int>").write.parquet(out)
    else:

        def read(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow

            yield pyarrow.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})

        frame.mapInArrow(read, "n bigint").collect()
    session.stop()


def _datatrove(task: str, folder: str, models: Path, out: str, is_documents: bool = False) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    from pairloom.engines import datatrove as engine

    steps: list[Any] = [ParquetReader(folder)]
    if task == _TOKENIZE:
        steps.append(engine.PairloomTokenizer(out, str(models / "model.json"), shuffle_documents=False))
    elif task == _HUGGINGFACE:
        steps.append(DocumentTokenizer(out, str(models / "tokenizer.json"), shuffle_documents=False))
    elif task == _COUNT and is_documents:
        steps.append(engine.PretokenCounter(out))
    elif task == _COUNT:
        steps = [engine.PretokenCounter(out, input_folder=folder)]
    LocalPipelineExecutor(pipeline=steps, tasks=_N_FILES, workers=2, logging_dir=out + "-log").run()


_SINGLE = "single"

ENGINES: dict[str, Callable[[str, str, Path, str], None]] = {
    _SINGLE: _single,
    "2 threads": _threads,
    "dask": _dask,
    "datatrove": _datatrove,
    "datatrove documents": partial(_datatrove, is_documents=True),
    "ray": _ray,
    "spark": _spark,
    "spark rows": partial(_spark, counts_rows=True),
}

_TASKS = (_READER, _COUNT, _TOKENIZE, _HUGGINGFACE)


def _tasks(engine: str) -> tuple[str, ...]:
    """Returns the tasks of an engine; variants of another engine are measured only if they differ."""
    variants: dict[str, tuple[str, ...]] = {
        "2 threads": (_COUNT, _TOKENIZE),
        "datatrove documents": (_COUNT,),
        "spark rows": (_COUNT,),
    }
    return variants.get(engine, _TASKS)


def _documents(out: Path) -> list[bytes]:
    """Returns the ids of every document that a run wrote, sorted."""
    if (out / "manifest.json").exists():
        found: Any = iter(open_shards(out))
    elif list(out.glob("*.ds")):
        found = itertools.chain.from_iterable(map(_of_datatrove, out.glob("*.ds")))
    else:
        import pyarrow.parquet as pq

        found = pq.read_table(out, columns=["input_ids"])["input_ids"].to_pylist()
    return sorted(np.asarray(document, dtype="<u4").tobytes() for document in found)


def _of_datatrove(path: Path) -> list[Any]:
    ids = np.fromfile(path, dtype="<u2")
    ends = np.fromfile(path.with_name(f"{path.name}.index"), dtype="<u8")
    return np.split(ids, ends[:-1].astype(np.int64))


def _write(paths: list[str], megabytes: int, folder: Path) -> None:
    """Writes documents of the texts as Parquet, with the same share of each text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = megabytes * 1_000_000 // len(paths)
    documents = []
    for path in paths:
        with Path(path).open("rb") as file:
            data = file.read(n)
        if len(data) < n:
            raise SystemExit(f"{path} has {len(data)} bytes, {n} are needed: name larger texts, or fewer --megabytes")
        text = data.decode("utf-8", "ignore")
        documents += [text[start : start + _DOCUMENT] for start in range(0, len(text), _DOCUMENT)]
    folder.mkdir()
    for number in range(_N_FILES):
        pq.write_table(pa.table({"text": documents[number::_N_FILES]}), folder / f"{number}.parquet")


def _seconds(arguments: list[str]) -> float:
    """Returns the processor seconds of a child process and everything that it starts."""
    command = [sys.executable, __file__, *arguments]
    group = Path(f"/sys/fs/cgroup/cpuacct/pairloom-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        return _seconds_of_children(command)
    try:
        _run([sys.executable, "-c", _JOIN, str(group / "tasks"), *command])
        time.sleep(2)
        return int((group / "cpuacct.usage").read_text()) / 1e9
    finally:
        for process in (group / "tasks").read_text().split():
            os.kill(int(process), signal.SIGKILL)
        time.sleep(1)
        group.rmdir()


_JOIN = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _seconds_of_children(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class _Measurement:
    """Runs of one call, on one size or on two sizes."""

    def __init__(self, folder: Path, megabytes: int, texts: list[str], n_runs: int) -> None:
        self._folder = folder
        self._megabytes = megabytes
        self._texts = texts
        self._n_runs = n_runs

    def out(self, engine: str, task: str, megabytes: int) -> Path:
        """Returns the output folder of a run."""
        return self._folder / f"{engine}-{task}-{megabytes}".replace(" ", "-")

    def _seconds(self, engine: str, task: str, megabytes: int) -> float:
        """Returns the processor seconds of a run."""
        documents = self._folder / str(megabytes)
        if not documents.exists():
            _write(self._texts, megabytes, documents)
        out = self.out(engine, task, megabytes)
        for path in (out, Path(f"{out}-log")):
            shutil.rmtree(path, ignore_errors=True)
        return _seconds([str(self._folder), "--run", engine, task, str(documents), str(out)])

    def further(self, engines: list[str], task: str) -> list[tuple[float, float]]:
        """Returns (seconds of starting, seconds per additional GB) for each engine, by medians of alternating runs."""
        small = self._megabytes // (_HUGGINGFACE_SHARE if task == _HUGGINGFACE else 1)
        # HuggingFace takes so long that one run is exact enough.
        n_runs = 1 if task == _HUGGINGFACE else self._n_runs
        runs = [
            [self._seconds(engine, task, n) for engine in engines for n in (small, 3 * small)] for _ in range(n_runs)
        ]
        medians = [statistics.median(seconds) for seconds in zip(*runs, strict=True)]
        slopes = [(most - least) / (2 * small) * 1000 for least, most in zip(medians[::2], medians[1::2], strict=True)]
        return [(least - slope * small / 1000, slope) for least, slope in zip(medians[::2], slopes, strict=True)]

    def check_same_ids(self, engine: str) -> None:
        """Exits unless HuggingFace's way returns pairloom's ids in this engine."""
        outs = [self.out(f"{engine}-check", task, 4) for task in (_TOKENIZE, _HUGGINGFACE)]
        for task, out in zip((_TOKENIZE, _HUGGINGFACE), outs, strict=True):
            documents = self._folder / "4"
            if not documents.exists():
                _write(self._texts, 4, documents)
            _run([sys.executable, __file__, str(self._folder), "--run", engine, task, str(documents), str(out)])
        found, usual = map(_documents, outs)
        if not found or found != usual:
            raise SystemExit(f"{engine}: the ids of its usual way with HuggingFace are others than pairloom's")
        print(f"{engine}: {len(found):,} documents have the same ids with HuggingFace's library", flush=True)


def main() -> None:
    """Prints a row for each engine and task."""
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--only", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--tasks", nargs="+", choices=_TASKS, default=_TASKS)
    parser.add_argument("--megabytes", type=int, default=80)
    parser.add_argument("--runs", type=int, default=3, help="of which the median is taken")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        engine, task, folder, out = given.run
        ENGINES[engine](task, folder, Path(given.texts[0]), out)
        return
    # Adopt the processes that an engine's driver leaves behind, so that their seconds count.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    print(f"tier {cpu_tier()}, {os.cpu_count()} processors, {given.megabytes} and {3 * given.megabytes} MB")
    with tempfile.TemporaryDirectory() as name:
        measurement = _Measurement(Path(name), given.megabytes, given.texts, given.runs)
        with Path(given.texts[0]).open("rb") as file:
            model = Tokenizer.train(file.read(5_000_000).decode("utf-8", "ignore"), 32_000)
        model.save(Path(name) / "model.json")
        model.save(Path(name) / "tokenizer.json", format="huggingface")
        if _HUGGINGFACE in given.tasks:
            for engine in given.only:
                if _HUGGINGFACE in _tasks(engine):
                    measurement.check_same_ids(engine)
        print(f"{'engine':19} {'task':11} {'start s':>8} {'s per further GB':>17} {'times single':>13}")
        for engine in given.only:
            own: dict[str, float] = {}
            for task in (task for task in _tasks(engine) if task in given.tasks):
                is_compared = engine != _SINGLE and task in (_COUNT, _TOKENIZE)
                found = measurement.further([_SINGLE, engine] if is_compared else [engine], task)
                start, own[task] = found[-1]
                times = f"{own[task] / found[0][1]:13.2f}  of {found[0][1]:.1f}" if is_compared else ""
                print(f"{engine:19} {task:11} {start:8.1f} {own[task]:17.1f} {times}", flush=True)
            if _TOKENIZE in own and _HUGGINGFACE in own:
                ratio = own[_HUGGINGFACE] / own[_TOKENIZE]
                print(f"{engine:19} HuggingFace takes {ratio:.1f} times as long as pairloom", flush=True)


if __name__ == "__main__":
    main()
