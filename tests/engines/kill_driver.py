"""The driver of an engine, which tests kill: writes all documents once; a worker may be killed on the way.

    python -m tests.engines.kill_driver ENGINE PARTS OUTPUT [KILLED]

KILLED: a file that is created when a worker is killed, which happens once.
"""

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairloom import Tokenizer

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262, decode_errors="replace")
N_PARTS, N_DOCUMENTS = 50, 50_000
N_BEFORE_A_KILL = 5


def texts_of(part: int) -> list[str]:
    n = N_DOCUMENTS // N_PARTS
    return [f"ab the cat {number} " * (number % 7) for number in range(part * n, (part + 1) * n)]


def n_attempts(folder: Path) -> int:
    """Returns how many tasks have started to write."""
    try:
        return len(list(folder.glob(".pairloom-job-*/*")))
    except FileNotFoundError:
        # A starting job removes what a dead one left; here, while the folder was being listed.
        return 0


def _die_once(killed: Path | None) -> None:
    if killed is not None and not killed.exists():
        killed.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)


def _dask(parts: Path, output: Path, killed: Path | None) -> None:
    from pairloom.engines import dask

    distributed: Any = importlib.import_module("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill() -> None:
            while n_attempts(output) < N_BEFORE_A_KILL:
                time.sleep(0.001)
            assert killed is not None
            killed.write_text("")
            os.kill(pids[0], signal.SIGKILL)

        if killed is not None:
            threading.Thread(target=kill, daemon=True).start()
        dask.encode_files(sorted(map(str, parts.glob("*.parquet"))), output, TOKENIZER)


def _is_late(table: Any) -> bool:
    return any(text.startswith("ab the cat 20001 ") for text in table.column("text").to_pylist())


def _ray(parts: Path, output: Path, killed: Path | None) -> None:
    import ray

    from pairloom.engines import ray as engine

    def pass_on(table: Any) -> Any:
        if _is_late(table):
            _die_once(killed)
        return table

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=1 << 28)
    # Ray makes one block of many small files.
    data = ray.data.read_parquet(str(parts)).repartition(N_PARTS)
    engine.write_tokens(data.map_batches(pass_on, batch_format="pyarrow"), output, TOKENIZER)
    ray.shutdown()


def _spark(parts: Path, output: Path, killed: Path | None) -> None:
    pyspark: Any = importlib.import_module("pyspark.sql")

    from pairloom.engines import spark as engine

    def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if _is_late(batch):
                _die_once(killed)
            yield batch

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.SparkSession.builder.master("local[2,4]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.files.maxPartitionBytes": "100000",
        "spark.sql.files.openCostInBytes": "100000",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.dataSource.register(engine.PairloomDataSource)
    model = output.with_name("model.json")
    TOKENIZER.save(model, overwrite=True)
    frame = session.read.parquet(str(parts)).mapInArrow(pass_on, "text string")
    frame.write.format("pairloom").mode("append").option("model", str(model)).save(str(output))
    session.stop()


DRIVERS = {"dask": _dask, "ray": _ray, "spark": _spark}

if __name__ == "__main__":
    DRIVERS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]) if len(sys.argv) > 4 else None)
