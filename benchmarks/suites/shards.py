"""Reading token data back: from disk, from a bucket and its cache, and mixtures of folders.

The bucket is moto's, on loopback, in a process of its own. A plain download is `s3fs.get_file` of the same shards.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

from report.section import Claim, Section, Setup, Table

from pairloom import Tokenizer, open_shards, tokenize_files

N_SHARDS = 4
WEIGHTS = {"web": 70, "code": 25, "books": 5}
FAR_STEP = 1_000_000


def measure(setup: Setup) -> Section:
    """Shards of 64 MB (4 MB when quick) of a vocabulary of bytes: only reading is measured."""
    section = Section("shards")
    n_tokens = (2 if setup.quick else 32) << 20
    folder = setup.folder / "shards"
    text = setup.folder / "bytes.txt"
    text.write_bytes((b"the cat sat on a mat\n" * n_tokens)[: N_SHARDS * n_tokens])
    tokenizer = Tokenizer.train("", 256)
    tokenize_files(tokenizer, text, folder, shard_tokens=n_tokens, eot=False)
    if importlib.util.find_spec("moto") and importlib.util.find_spec("s3fs"):
        _bucket(section, folder, setup)
    else:
        section.notes.append("moto and s3fs are not installed: no bucket")
    _mixtures(section, dict.fromkeys(WEIGHTS, folder))
    return section


def _bucket(section: Section, folder: Path, setup: Setup) -> None:
    cache, plain = setup.folder / "cache", setup.folder / "plain"
    names = sorted(path.name for path in folder.iterdir())
    n_bytes = sum(path.stat().st_size for path in folder.iterdir())

    def download() -> None:
        for name in names:
            files.get_file(f"bucket/{name}", str(plain / name))

    calls: dict[str, Callable[[], object]] = {
        "disk": lambda: _read(folder),
        "bucket": lambda: _read("s3://bucket", cache=cache),
        "plain download": download,
        "cache": lambda: _read("s3://bucket", cache=cache),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    with _store() as files:
        files.mkdir("bucket")
        for name in names:
            files.put_file(str(folder / name), f"bucket/{name}")
        for _ in range(max(5, setup.n_turns)):
            for path in (cache, plain):
                shutil.rmtree(path, ignore_errors=True)
            plain.mkdir()
            for name, call in calls.items():
                began = time.perf_counter()
                call()
                seconds[name].append(time.perf_counter() - began)
    table = Table(f"all tokens of {N_SHARDS} shards, {n_bytes / 1e6:.0f} MB", ["from", "seconds", "MB a second"])
    section.tables.append(table)
    for name, times in seconds.items():
        table.rows.append([name, median(times), n_bytes / 1e6 / median(times)])
    ratio = median(seconds["plain download"]) / median(seconds["bucket"])
    section.claims.append(Claim("reading a bucket, over a plain download", ratio, 0.9))


def _read(folder: str | Path, **options: Any) -> None:
    shards = open_shards(folder, **options)
    for start in range(0, shards.n_tokens, 1 << 20):
        shards.tokens(start, min(start + (1 << 20), shards.n_tokens))


@contextmanager
def _store() -> Iterator[Any]:
    import s3fs

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = {"ENDPOINT_URL": f"http://127.0.0.1:{port}", "DEFAULT_REGION": "us-east-1"}
    names |= {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (
        mock.patch.dict(os.environ, {f"AWS_{name}": value for name, value in names.items()}),
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server,
    ):
        try:
            while server.poll() is None:
                with socket.socket() as client:
                    if not client.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.1)
            yield s3fs.S3FileSystem()
        finally:
            server.kill()


def _mixtures(section: Section, folders: dict[str, Path]) -> None:
    mix = open_shards(folders, weights=WEIGHTS)
    options: dict[str, Any] = {"seq_len": 2048, "batch": 8, "seed": 1}
    batches = mix.batches(**options)
    while batches.row * 2048 < 10_000_000:
        next(batches)
    table = Table("a mixture, 10 M tokens", ["folder", "% wanted", "% found"])
    section.tables.append(table)
    for name, weight in WEIGHTS.items():
        table.rows.append([name, weight, f"{100 * batches.sources[name]['rows'] / batches.row:.2f}"])
    times = []
    for step in range(FAR_STEP, FAR_STEP + 5):
        began = time.perf_counter()
        next(mix.batches(**options, step=step))
        times.append(1e3 * (time.perf_counter() - began))
    rows: list[list[Any]] = [[f"{FAR_STEP:,} and the four after it", min(times), max(times)]]
    section.tables.append(Table("a mixture resumed: milliseconds to its first batch", ["step", "least", "most"], rows))
