"""Tokenizer.load(cache=folder): the same tokenizers, whatever lies in the folder."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairloom import FormatError, Tokenizer

# The modules themselves: `pairloom.formats` has stand-ins until they are used.
gpt2, huggingface, model_cache, tekken, tiktoken = (
    importlib.import_module(f"pairloom.formats.{name}")
    for name in ("gpt2", "huggingface", "model_cache", "tekken", "tiktoken")
)

TEXT = "the cat sat on the mat, the hat on the cat; 12 naïve <|x|> " * 5


class Reads:
    """Counts how often files of other libraries are translated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n = 0
        for module, name in ((huggingface, "read"), (tiktoken, "read"), (tekken, "read"), (gpt2, "_model_of")):
            monkeypatch.setattr(module, name, self._counted(getattr(module, name)))

    def _counted(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self.n += 1
            return read(*args, **options)

        return counted


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    tokenizer = Tokenizer.train(TEXT, 300, special_tokens=["<|x|>"], decode_errors="replace", corpus_specials="split")
    tokenizer.save(folder / "tokenizer.json", format="huggingface")
    with pytest.warns(UserWarning, match="does not say"):
        tokenizer.save(folder / "a.tiktoken")
        tokenizer.save(folder / "pair", format="gpt2")
    return folder


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tokenizer.json", {}),
        ("a.tiktoken", {"pattern": "cl100k", "special_tokens": {"<|x|>": 400}}),
        ("a.tiktoken", {"pattern": "gpt2"}),
        ("pair", {"format": "gpt2", "special_tokens": ["<|x|>"]}),
    ],
)
def test_a_file_is_translated_once(
    name: str, options: dict[str, Any], files: Path, tmp_path: Path, reads: Reads
) -> None:
    expected = Tokenizer.load(files / name, **options)
    loaded = [Tokenizer.load(files / name, **options, cache=tmp_path / "new" / "cache") for _ in range(3)]
    assert all(each == expected and each.encode(TEXT) == expected.encode(TEXT) for each in loaded)
    assert reads.n == 2
    assert len(entries(tmp_path / "new" / "cache")) == 1


def test_other_arguments_and_other_bytes_are_other_entries(files: Path, tmp_path: Path, reads: Reads) -> None:
    path, cache = files / "a.tiktoken", tmp_path / "cache"
    given: list[dict[str, Any]] = [
        {"pattern": "gpt2"},
        {"pattern": "cl100k"},
        {"pattern": "gpt2", "special_tokens": ["<a>", "<b>"]},
        {"pattern": "gpt2", "special_tokens": ["<b>", "<a>"]},
        {"pattern": "gpt2", "special_tokens": {"<a>": 400}},
        {"pattern": "gpt2", "special_tokens": {"<a>": 401}},
    ]
    for options in given * 2:
        assert Tokenizer.load(path, **options, cache=cache) == Tokenizer.load(path, **options)
    assert len(entries(cache)) == len(given)
    shorter = tmp_path / "a.tiktoken"
    shorter.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-3]))
    n_vocab = Tokenizer.load(path, pattern="gpt2").n_vocab
    assert Tokenizer.load(shorter, pattern="gpt2", cache=cache).n_vocab == n_vocab - 3
    before = reads.n
    assert Tokenizer.load(path, pattern="gpt2", cache=cache) == Tokenizer.load(path, pattern="gpt2")
    assert reads.n == before + 1


def test_a_damaged_entry_is_written_anew(files: Path, tmp_path: Path, reads: Reads) -> None:
    expected = Tokenizer.load(files / "tokenizer.json", cache=tmp_path)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    # What says that it is whole and is no tokenizer comes from nobody, but is no reason to fail.
    foreign = hashlib.sha256(entry.name.encode() + b"{}").digest() + b"{}"
    Tokenizer.load(files / "a.tiktoken", pattern="gpt2", cache=tmp_path / "other")
    (other,) = entries(tmp_path / "other")
    for damaged in (
        other.read_bytes(),
        b"",
        whole[:10],
        whole[:-1],
        whole + b" ",
        bytes([whole[0] ^ 1]) + whole[1:],
        foreign,
    ):
        entry.write_bytes(damaged)
        before = reads.n
        assert Tokenizer.load(files / "tokenizer.json", cache=tmp_path) == expected
        assert reads.n == before + 1
        assert entry.read_bytes() == whole


def test_another_build_has_its_own_entries(
    files: Path, tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tokenizer.load(files / "tokenizer.json", cache=tmp_path)
    build = model_cache._build()
    assert "pre_tokenizer.py" in build and "_core" in build and "named_patterns.json" in build
    monkeypatch.setattr(model_cache, "_build", lambda: build + "x")
    Tokenizer.load(files / "tokenizer.json", cache=tmp_path)
    assert reads.n == 2 and len(entries(tmp_path)) == 2


def test_a_folder_that_cannot_be_written_is_no_error(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: Reads
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(model_cache, "write_file", refused)
        expected = Tokenizer.load(files / "tokenizer.json")
        for _ in range(2):
            assert Tokenizer.load(files / "tokenizer.json", cache=tmp_path) == expected
        assert entries(tmp_path) == [] and reads.n == 3
    with pytest.raises(NotADirectoryError, match="must be a folder"):
        Tokenizer.load(files / "tokenizer.json", cache=files / "tokenizer.json")
    with pytest.raises(TypeError, match=r"cache must be a str or os\.PathLike"):
        Tokenizer.load(files / "tokenizer.json", cache=1)  # type: ignore[arg-type]


def test_what_is_refused_is_refused_with_a_cache_too(files: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not say how text is split"):
        Tokenizer.load(files / "a.tiktoken", cache=tmp_path)
    with pytest.raises(TypeError, match="special_tokens must be a list"):
        Tokenizer.load(files / "a.tiktoken", pattern="gpt2", special_tokens="<a>", cache=tmp_path)
    lacking = tmp_path / "lacking.tiktoken"
    lacking.write_bytes((files / "a.tiktoken").read_bytes().replace(b"YQ==", b"YcOp"))
    cache = tmp_path / "cache"
    # The entry of a vocabulary without some bytes does not say that they may lack.
    assert Tokenizer.load(lacking, pattern="gpt2", allow_missing_bytes=True, cache=cache).model.missing_bytes() == [97]
    with pytest.raises(FormatError, match="has no token for 1 of the 256 bytes"):
        Tokenizer.load(lacking, pattern="gpt2", cache=cache)


def test_what_stands_beside_the_tokenizer_is_read_each_time(files: Path, tmp_path: Path, reads: Reads) -> None:
    folder, cache = tmp_path / "model", tmp_path / "cache"
    tokenizer = Tokenizer.load(files / "tokenizer.json")
    tokenizer.with_tokenizer_config(model_max_length=9).save_pretrained(folder)
    assert Tokenizer.load(folder, cache=cache).tokenizer_config == {"model_max_length": 9}
    tokenizer.save_pretrained(folder, overwrite=True)
    before = reads.n
    assert Tokenizer.load(folder, cache=cache).tokenizer_config == {}
    assert reads.n == before and len(entries(cache)) == 1


def test_processes_share_a_folder(files: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pairloom import Tokenizer\n"
        "found = [Tokenizer.load(sys.argv[1], cache=sys.argv[2]).encode('the cat') for _ in range(20)]\n"
        "assert all(each == found[0] for each in found); print(found[0])"
    )
    command = [sys.executable, "-c", code, str(files / "tokenizer.json"), str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) for _ in range(4)]
    printed = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert printed == [f"{Tokenizer.load(files / 'tokenizer.json').encode('the cat')}\n"] * 4
    assert len(entries(tmp_path / "cache")) == 1


def test_the_command_line_keeps_a_model(files: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pairloom",
        "encode",
        "--text",
        "the cat",
        "--model",
        str(files / "tokenizer.json"),
    ]
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    for _ in range(2):
        found = subprocess.run(
            [*command, "--model-cache", str(tmp_path / "c")], capture_output=True, text=True, check=True
        )
        assert (found.stdout, found.stderr) == (plain.stdout, plain.stderr)
    assert len(entries(tmp_path / "c")) == 1


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Tokenizer.train(["low low"], 258).save("tokenizer.json", format="huggingface")
    with pytest.raises(ValueError, match=r"cache is empty; name a file or a folder, '\.' if the current one is meant"):
        Tokenizer.load("tokenizer.json", cache="")
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("planted", ["link", "broken link", "link to a pipe", "pipe", "folder"])
def test_a_link_planted_under_an_entry_is_not_followed(files: Path, tmp_path: Path, reads: Reads, planted: str) -> None:
    cache, target = tmp_path / "cache", tmp_path / "target"
    expected = Tokenizer.load(files / "tokenizer.json", cache=cache)
    (entry,) = entries(cache)
    data = entry.read_bytes()
    entry.unlink()
    if planted == "link":
        target.write_bytes(data)
    elif planted in ("pipe", "link to a pipe"):
        os.mkfifo(entry if planted == "pipe" else target)
    if planted == "folder":
        entry.mkdir()
    elif planted != "pipe":
        entry.symlink_to(target)
    reads.n = 0
    assert Tokenizer.load(files / "tokenizer.json", cache=cache) == expected
    assert reads.n == 1
    assert not target.exists() or planted == "link to a pipe" or target.read_bytes() == data
    if "link" in planted and "pipe" not in planted:
        assert entry.is_file() and not entry.is_symlink()
