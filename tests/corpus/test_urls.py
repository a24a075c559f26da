"""URLs of a corpus: format, secrets, answers that are not files, and objects that change while they are read."""

import bz2
import gzip
import http.server
import json
import re
import traceback
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CorpusError, PretokenCounts, Tokenizer, tokenize_files
from pairloom.corpus import remote
from pairloom.corpus.fingerprint import of_files
from tests import loopback
from tests.cases import REFUSED
from tests.corpus.files import json_lines

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
DOCUMENTS = [f"the cat {number}" for number in range(60)]
LINES = json_lines(DOCUMENTS).encode()
OTHER_LINES = LINES.replace(b"cat", b"XXX")
SECRETS = ("PASSWORD", "SIGNED")


def _assert_no_secret(*shown: Any) -> None:
    for text in map(str, shown):
        assert not any(secret in text for secret in SECRETS), text


class _Server(http.server.ThreadingHTTPServer):
    """Answers each path with (status, headers, data) from `answers`, or with a range of the data if requested."""

    answers: dict[str, Callable[[], tuple[int, dict[str, str], bytes]]]
    n_asked = 0


class _Handler(loopback.Handler):
    def do_GET(self) -> None:
        answer = self.server.answers.get(urllib.parse.unquote(urllib.parse.urlparse(self.path).path))
        status, headers, data = answer() if answer else (404, {}, b"")
        self.server.n_asked += self.command == "GET"
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted and status == 200:
            status, data = 206, data[int(wanted[1]) : int(wanted[2]) + 1]
        self.answer(status, data, headers)


@pytest.fixture
def server() -> Iterator[_Server]:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    server = _Server(("127.0.0.1", 0), _Handler)
    server.answers = {}
    with loopback.serving(server):
        yield server


def _url(server: _Server, path: str) -> str:
    return f"http://me:PASSWORD@127.0.0.1:{server.server_port}{path}"


def _public(server: _Server, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz", "d.ndjson.bz2", "no-suffix", "d[1].jsonl"])
@pytest.mark.parametrize("query", ["", "?sig=SIGNED", "?name=a.parquet&sig=SIGNED*"])
def test_format_and_compression_come_from_the_path_of_a_url(server: _Server, name: str, query: str) -> None:
    data = {"gz": gzip.compress(LINES), "bz2": bz2.compress(LINES)}.get(name.rpartition(".")[2], LINES)
    server.answers[f"/{name}"] = lambda: (200, {}, data)
    corpus = Corpus(_url(server, f"/{name}{query}"))
    assert list(corpus) == ([LINES.decode()] if name == "no-suffix" else DOCUMENTS)
    assert corpus.names == [_public(server, f"/{name}")]


def test_files_at_urls_are_counted_as_a_corpus_is(server: _Server) -> None:
    server.answers["/a.txt"] = lambda: (200, {}, b"the cat")
    assert PretokenCounts.from_files(_url(server, "/a.txt?sig=SIGNED")) == PretokenCounts.from_texts(["the cat"])


def test_no_manifest_checkpoint_or_name_holds_a_secret_of_a_url(server: _Server, tmp_path: Path) -> None:
    server.answers["/d.jsonl"] = lambda: (200, {"Last-Modified": "Sat, 28 Nov 2026 10:00:00 GMT"}, LINES)
    corpus = Corpus(_url(server, "/d.jsonl?sig=SIGNED"))
    tokenize_files(TOKENIZER, corpus, tmp_path / "out")
    manifest = (tmp_path / "out" / "manifest.json").read_text()
    assert json.loads(manifest)["inputs"][0]["path"] == _public(server, "/d.jsonl")
    _assert_no_secret(manifest, corpus, corpus.names, corpus.listing, corpus.sources)
    _assert_no_secret(of_files([_url(server, "/d.jsonl?sig=SIGNED")]))
    assert corpus.sources[0].mtime_ns == 1_795_860_000 * 10**9
    # Another signature, but the same input.
    again = Corpus(_url(server, "/d.jsonl?sig=SIGNED2"))
    assert tokenize_files(TOKENIZER, again, tmp_path / "out", resume=True).was_complete


WEB_PAGE = (200, CorpusError, r"the server sent a web page \(text/html\), not a file; check the address")


@pytest.mark.parametrize(("status", "kind", "message"), [*REFUSED["answers"], WEB_PAGE])
@pytest.mark.parametrize("path", ["/d.jsonl", "/d.jsonl.gz", "/d.parquet", "/d"])
def test_what_is_no_file_is_told_as_what_came(
    server: _Server, path: str, status: int, kind: type[Exception], message: str
) -> None:
    page = b"<html><form>Log in</form></html>"
    server.answers[path] = lambda: (status, {"Content-Type": "text/html; charset=utf-8"}, page)
    url = _url(server, f"{path}?sig=SIGNED")
    with pytest.raises(kind, match=message) as caught:
        Corpus(url)
    assert _public(server, path) in str(caught.value)
    _assert_no_secret(*traceback.format_exception(caught.value)[1:])


def test_a_server_that_is_not_there_is_an_error_without_secrets(server: _Server) -> None:
    server.server_close()
    url = _url(server, "/d.jsonl?sig=SIGNED")
    with pytest.raises(OSError, match="Connect") as caught:
        Corpus(url)
    assert caught.value.filename == _public(server, "/d.jsonl")
    _assert_no_secret(*traceback.format_exception(caught.value)[1:])


@pytest.mark.parametrize("change", ["etag", "time", "shorter"])
@pytest.mark.parametrize("options", [{}, {"skip_bad_files": True, "skip_bad": True}, {"max_bytes": 600}])
def test_an_object_that_changes_between_ranges_is_an_error(
    server: _Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(remote, "_FIRST_BYTES", 200)
    monkeypatch.setattr(remote, "_MAX_BYTES", 300)
    monkeypatch.setattr(remote, "_FIRST_WAIT_SECONDS", 0.0001)

    def answer() -> tuple[int, dict[str, str], bytes]:
        is_new = server.n_asked >= 2
        told = {"ETag": f'"{is_new}"'} if change == "etag" else {}
        told |= {"Last-Modified": f"Sat, 28 Nov 2026 10:00:0{is_new:d} GMT"} if change == "time" else {}
        return 200, told, (OTHER_LINES[:-300] if change == "shorter" else OTHER_LINES) if is_new else LINES

    server.answers["/d.jsonl"] = answer
    corpus = Corpus(_url(server, "/d.jsonl?sig=SIGNED"), **options)
    with pytest.raises(OSError, match="has changed while it was read") as caught:
        tokenize_files(TOKENIZER, corpus, tmp_path / "out")
    _assert_no_secret(*traceback.format_exception(caught.value)[1:])
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_names_in_any_store_hold_no_password(memory: Any, tmp_path: Path) -> None:
    folder = "memory://me:PASSWORD@bucket"
    memory.pipe_file(f"{folder}/a.jsonl", LINES)
    corpus = Corpus(f"{folder}/a.jsonl")
    assert list(corpus) == DOCUMENTS
    tokenize_files(TOKENIZER, corpus, tmp_path / "out")
    _assert_no_secret(corpus, corpus.names, (tmp_path / "out" / "manifest.json").read_text())
    for url in (f"{folder}/none.jsonl", f"{folder}/*.txt"):
        with pytest.raises((FileNotFoundError, CorpusError)) as caught:
            Corpus(url)
        _assert_no_secret(*traceback.format_exception(caught.value)[1:])


def test_an_object_of_any_store_that_changes_is_an_error(memory: Any) -> None:
    lines = LINES * 200
    memory.pipe_file("/bucket/a.jsonl", lines)
    reading = Corpus("memory://bucket/a.jsonl").read()
    next(reading)
    memory.pipe_file("/bucket/a.jsonl", lines.replace(b"cat", b"XXX"))
    with pytest.raises(OSError, match="has changed while it was read"):
        list(reading)


def test_files_in_archives_are_read_by_chained_urls(tmp_path: Path) -> None:
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for name, text in (("in/a.txt", "a"), ("in/b.jsonl", json_lines(["b"])), ("c.txt", "c")):
            target.writestr(name, text)
    within = f"::file://{archive}"
    for path, texts in (("in/a.txt", ["a"]), ("in", ["a", "b"]), ("*.txt", ["c"]), ("**/*.txt", ["c", "a"])):
        assert list(Corpus(f"zip://{path}{within}")) == texts, path
    # An archive within a cache, and a run that is resumed, name the archive too.
    url = f"zip://in/*::simplecache{within}"
    written = [tokenize_files(TOKENIZER, url, tmp_path / "out", resume=resume) for resume in (False, True)]
    assert [(result.n_documents, result.was_complete) for result in written] == [(2, False), (2, True)]
    assert Corpus(url).names == [f"zip://in/{name}::simplecache{within}" for name in ("a.txt", "b.jsonl")]
