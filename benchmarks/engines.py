"""Processor seconds per further GB of counting and tokenizing in each engine, beside one process on the same Parquet.

    python benchmarks/engines.py TEXT FILE... [--only dask ray] [--megabytes 80]

Each engine works with two workers on S and on 3 S bytes of the text, cut into documents of about 4 KB; the difference
of the processor seconds of all its processes, over 2 S, leaves out what starting takes. One process with two threads is
the fairer base: two workers share what a processor has once (its caches, often its arithmetic). Seconds are those of a
control group where one can be made (root, cgroup v1), else of children that were waited for, which leaves out most of
Ray's and Spark's workers. Needs the groups dev and engines of pyproject.toml.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pairloom import Corpus, PretokenCounts, Tokenizer, tokenize_files

_PR_SET_CHILD_SUBREAPER = 36
_N_FILES = 8
_DOCUMENT = 4000


def _files(folder: str) -> list[str]:
    return sorted(str(path) for path in Path(folder).glob("*.parquet"))


def _single(task: str, folder: str, model: Tokenizer, out: str, threads: int = 1) -> None:
    if task == "count":
        PretokenCounts.from_corpus(Corpus(_files(folder)), threads=threads)
    else:
        tokenize_files(model, _files(folder), out, threads=threads)


def _threads(task: str, folder: str, model: Tokenizer, out: str) -> None:
    _single(task, folder, model, out, threads=2)


def _dask(task: str, folder: str, model: Tokenizer, out: str) -> None:
    from pairloom.engines import dask

    distributed: Any = importlib.import_module("distributed")

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        if task == "count":
            dask.count_files(_files(folder)).compute()
        else:
            dask.encode_files(_files(folder), out, model)


def _ray(task: str, folder: str, model: Tokenizer, out: str) -> None:
    import ray

    from pairloom.engines import ray as engine

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=1 << 30)
    if task == "count":
        engine.count_files(_files(folder))
    else:
        engine.write_tokens(ray.data.read_parquet(_files(folder)), out, model)
    ray.shutdown()


def _spark(task: str, folder: str, model: Tokenizer, out: str) -> None:
    from pyspark.sql import SparkSession

    from pairloom.engines import spark as engine

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    frame = session.read.parquet(folder)
    if task == "count":
        engine.counts_from_spark(engine.count_pretokens(frame))
    else:
        session.dataSource.register(engine.PairloomDataSource)
        file = f"{out}.json"
        model.save(file)
        frame.write.format("pairloom").mode("append").option("model", file).save(out)
    session.stop()


def _datatrove(task: str, folder: str, model: Tokenizer, out: str, counts_documents: bool = False) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader

    from pairloom.engines import datatrove as engine

    file = f"{out}.json"
    model.save(file)
    steps: list[Any]
    if task == "tokenize":
        steps = [ParquetReader(folder), engine.PairloomTokenizer(out, file, shuffle_documents=False)]
    elif counts_documents:
        steps = [ParquetReader(folder), engine.PretokenCounter(out)]
    else:
        steps = [engine.PretokenCounter(out, input_folder=folder)]
    LocalPipelineExecutor(pipeline=steps, tasks=_N_FILES, workers=2, logging_dir=out + "-log").run()


ENGINES: dict[str, Callable[[str, str, Tokenizer, str], None]] = {
    "single": _single,
    "2 threads": _threads,
    "dask": _dask,
    "datatrove": _datatrove,
    "datatrove documents": partial(_datatrove, counts_documents=True),
    "ray": _ray,
    "spark": _spark,
}


def _write(paths: list[str], megabytes: int, folder: Path) -> None:
    """Documents of the texts as Parquet, the same share of each text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = megabytes * 1_000_000 // len(paths)
    documents = []
    for path in paths:
        text = Path(path).read_bytes()[:n].decode("utf-8", "ignore")
        documents += [text[start : start + _DOCUMENT] for start in range(0, len(text), _DOCUMENT)]
    folder.mkdir()
    for number in range(_N_FILES):
        pq.write_table(pa.table({"text": documents[number::_N_FILES]}), folder / f"{number}.parquet")


def _seconds(arguments: list[str]) -> float:
    """The processor seconds of a child and all that it starts."""
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


def main() -> None:
    """Prints a row for each engine and task."""
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--only", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--megabytes", type=int, default=80)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        engine, task, folder, out = given.run
        ENGINES[engine](task, folder, Tokenizer.load(given.texts[0]), out)
        return
    # What an engine's driver leaves behind is inherited, so that its seconds are counted.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes: dict[str, Any] = {"small": given.megabytes, "large": 3 * given.megabytes}
        for size, megabytes in sizes.items():
            _write(given.texts, megabytes, folder / size)
        model = folder / "model.json"
        text = Path(given.texts[0]).read_bytes()[:5_000_000].decode("utf-8", "ignore")
        Tokenizer.train(text, 32_000).save(model)
        print(f"{'engine':19} {'task':9} {'start s':>8} {'s per further GB':>17}")
        for engine in given.only:
            for task in ("count", "tokenize"):
                seconds = {
                    size: _seconds(
                        [str(model), "--run", engine, task, str(folder / size), str(folder / f"{engine}-{task}-{size}")]
                    )
                    for size in sizes
                }
                slope = (seconds["large"] - seconds["small"]) / (2 * given.megabytes) * 1000
                start = seconds["small"] - slope * given.megabytes / 1000
                print(f"{engine:19} {task:9} {start:8.1f} {slope:17.1f}", flush=True)


if __name__ == "__main__":
    main()
