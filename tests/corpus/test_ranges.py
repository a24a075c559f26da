"""Files read by ranges: the same bytes whatever fails, none twice, and a clear error if retrying does not help."""

import gzip
import http.server
import io
import json
import os
import random
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, PretokenCounts
from pairloom.corpus import remote
from pairloom.corpus.remote import RangesFile
from tests import loopback
from tests.corpus.files import DOCUMENTS, json_lines, write_parquet

DATA = bytes(random.Random(1).randrange(256) for _ in range(30_000))


@pytest.fixture(autouse=True)
def _small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_FIRST_BYTES", 64)
    monkeypatch.setattr(remote, "_MAX_BYTES", 1000)
    monkeypatch.setattr(remote, "_FIRST_WAIT_SECONDS", 0.0001)


@pytest.mark.parametrize("seed", range(20))
def test_reads_and_seeks_return_the_file_whatever_breaks(seed: int) -> None:
    rng = random.Random(seed)
    data = DATA[: rng.choice([1, 63, 64, 65, 5000, 30_000])]
    share = rng.choice([0.0, 0.3])
    failures = 0

    def fetch(start: int, end: int) -> bytes:
        nonlocal failures
        assert 0 <= start < end <= len(data)
        failures = (failures + 1) % 6
        if not failures:
            return data[start:end]
        if rng.random() < share:
            raise rng.choice([ConnectionResetError("reset"), TimeoutError("slow"), ValueError("of a library")])
        # A connection can also end without an error.
        return data[start:end] if rng.random() >= share else data[start : rng.randrange(start, end)]

    with RangesFile(fetch, len(data), "s3://a/b") as file:
        plain = io.BytesIO(data)
        for _ in range(60):
            if rng.random() < 0.4:
                place, whence = rng.choice(
                    [(rng.randrange(len(data) + 9), 0), (rng.randrange(9), 1), (-rng.randrange(9), 2)]
                )
                assert file.seek(place, whence) == plain.seek(max(place, -len(data)) if whence == 2 else place, whence)
            size = rng.choice([0, 1, 8, 64, 500, 7000, -1])
            assert file.tell() == plain.tell() and file.read(size) == plain.read(size)


def test_straight_reads_fetch_growing_ranges_and_jumps_little() -> None:
    asked: list[tuple[int, int]] = []

    def fetch(start: int, end: int) -> bytes:
        asked.append((start, end))
        return DATA[start:end]

    with RangesFile(fetch, len(DATA), "s3://a/b") as file:
        while file.read(100):
            pass
    assert sorted(asked) == asked and [start for start, _ in asked[1:]] == [end for _, end in asked[:-1]]
    sizes = [end - start for start, end in asked]
    assert sizes[:4] == [100, 128, 256, 512] and max(sizes) == 1000 and sum(sizes) == len(DATA)
    asked.clear()
    with RangesFile(fetch, len(DATA), "s3://a/b") as file:
        file.seek(-8, 2)
        file.read(8)
        file.seek(100)
        file.read(8)
    assert asked == [(len(DATA) - 8, len(DATA)), (100, 164)]


def test_what_nothing_mends_is_an_error_with_the_place() -> None:
    tries = []

    def broken(start: int, end: int) -> bytes:
        tries.append(start)
        raise ConnectionResetError("reset by peer")

    with pytest.raises(OSError, match=r"the connection failed 6 times at byte 0: reset by peer; run again.*s3://a/b"):
        RangesFile(broken, 100, "s3://a/b").read(1)
    assert len(tries) == 6

    def missing(start: int, end: int) -> bytes:
        tries.append(start)
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError, match="gone"):
        RangesFile(missing, 100, "s3://a/b").read(1)
    assert len(tries) == 7


class _Server(http.server.ThreadingHTTPServer):
    """Serves the files of a folder by ranges; a share of its answers ends in the middle."""

    folder: Path
    share = 0.0
    has_ranges = True
    n_broken = in_row = 0
    max_in_row = 4
    random = random.Random(3)


class _Handler(loopback.Handler):
    def do_GET(self) -> None:
        path = self.server.folder / self.path.strip("/")
        if not path.is_file():
            self.answer(404, b"")
            return
        data, status, headers = path.read_bytes(), 200, {"Accept-Ranges": "bytes"}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not self.server.has_ranges:
            headers = {}
        elif wanted:
            start, last = int(wanted[1]), min(int(wanted[2]), len(data) - 1)
            status, headers["Content-Range"] = 206, f"bytes {start}-{last}/{len(data)}"
            data = data[start : last + 1]
        # Never so often in a row that reading gives up, unless all of them fail.
        is_broken = self.server.random.random() < self.server.share and (
            self.server.share == 1 or self.server.in_row < self.server.max_in_row
        )
        self.server.in_row = self.server.in_row + 1 if is_broken else 0
        self.server.n_broken += is_broken and self.command == "GET"
        self.answer(status, data, headers, n_sent=len(data) // 2 if is_broken else -1)


class _HubHandler(_Handler):
    """Serves the files of the folder as the dataset me/data of the Hugging Face hub."""

    def do_GET(self) -> None:
        url = urllib.parse.urlparse(self.path)
        if found := re.fullmatch(r"/datasets/me/data/resolve/main/(.*)", url.path):
            self.path = found[1]
            super().do_GET()
        elif found := re.fullmatch(r"/api/datasets/me/data/tree/main/?(.*)", url.path):
            folder = self.server.folder / found[1]
            paths = sorted(folder.rglob("*") if "recursive=true" in url.query.lower() else folder.glob("*"))
            self._json([self._entry(path) for path in paths])
        elif url.path == "/api/datasets/me/data":
            self._json({"id": "me/data", "sha": "1" * 40, "siblings": [], "private": False})
        else:
            self.answer(404, b"")

    def _entry(self, path: Path) -> dict[str, Any]:
        known = {"path": path.relative_to(self.server.folder).as_posix(), "oid": "0" * 40}
        if path.is_dir():
            return {"type": "directory", "size": 0, **known}
        return {"type": "file", "size": path.stat().st_size, **known}

    def _json(self, content: Any) -> None:
        self.answer(200, json.dumps(content).encode(), {"Content-Type": "application/json"})


def _server(folder: Path, handler: type[_Handler]) -> _Server:
    server = _Server(("127.0.0.1", 0), handler)
    server.folder = folder
    return server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    with loopback.serving(_server(tmp_path, _Handler)) as server:
        yield server


@pytest.mark.parametrize("has_ranges", [True, False])
def test_corpora_are_read_over_http(server: _Server, has_ranges: bool) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    documents = DOCUMENTS * 5
    (server.folder / "a.jsonl").write_text(json_lines(documents))
    (server.folder / "a.jsonl.gz").write_bytes(gzip.compress(json_lines(documents).encode()))
    write_parquet(server.folder / "a.parquet", documents, row_group_size=50)
    server.has_ranges, server.share = has_ranges, 0.3 if has_ranges else 0.0
    names = ["a.jsonl", "a.jsonl.gz", "a.parquet"]
    for name in names if has_ranges else names[:2]:
        corpus = Corpus(f"http://127.0.0.1:{server.server_port}/{name}")
        assert list(corpus) == documents
        assert PretokenCounts.from_texts(corpus) == PretokenCounts.from_texts(documents)
    assert (server.n_broken > 0) == has_ranges
    with pytest.raises(FileNotFoundError):
        list(Corpus(f"http://127.0.0.1:{server.server_port}/none.jsonl"))
    if has_ranges:
        server.share = 1.0
        with pytest.raises(OSError, match="the connection failed 6 times at byte 0"):
            list(Corpus(f"http://127.0.0.1:{server.server_port}/a.jsonl"))


_READ_HUB = """
import json, sys
from pairloom import Corpus
for name in sys.argv[1:]:
    corpus = Corpus(name)
    print(json.dumps([corpus.names, list(corpus)]))
try:
    Corpus("hf://datasets/me/data/none.jsonl")
except FileNotFoundError as error:
    print(json.dumps(str(error)))
"""


def test_corpora_are_read_from_a_hub_of_data_sets(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    folder = tmp_path / "hub"
    (folder / "more").mkdir(parents=True)
    (folder / "README.md").write_text("not a corpus")
    (folder / "a.jsonl").write_text(json_lines(DOCUMENTS))
    write_parquet(folder / "more" / "b.parquet", DOCUMENTS * 20)
    root = "hf://datasets/me/data"
    names = [f"{root}/a.jsonl", f"{root}/more/b.parquet"]
    with loopback.serving(_server(folder, _HubHandler)) as server:
        server.share, server.max_in_row = 0.7, 1
        # The library reads the address when it is imported.
        environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_OFFLINE": "0"}
        command = [sys.executable, "-c", _READ_HUB, *names, root, f"{root}/more/*.parquet"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, timeout=120)
        *found, missing = map(json.loads, done.stdout.splitlines())
    assert found == [
        [[names[0]], DOCUMENTS],
        [[names[1]], DOCUMENTS * 20],
        [names, DOCUMENTS * 21],
        [[names[1]], DOCUMENTS * 20],
    ]
    assert "none.jsonl" in missing
    assert server.n_broken > 0
