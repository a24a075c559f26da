"""Files appear whole or not at all."""

import errno
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pairloom import PretokenCounts, Tokenizer, formats
from pairloom._internal import atomic
from tests.formats.models import trained

MODEL = trained([(97, 98)])


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        formats.save(MODEL, tmp_path / "nowhere" / "model.json")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        formats.save(MODEL, tmp_path / "file" / "model.json")
    with pytest.raises(IsADirectoryError):
        formats.save(MODEL, tmp_path, overwrite=True)


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    sync = os.fsync

    def appear(handle: int) -> None:
        path.write_text("theirs")
        sync(handle)

    monkeypatch.setattr(os, "fsync", appear)
    with pytest.raises(FileExistsError):
        atomic.write_file(path, b"ours", overwrite=False)
    assert path.read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "folder"
    atomic.write_folder(path, {"a": b"1", "b": b"2"}, overwrite=False)
    assert {entry.name: entry.read_bytes() for entry in path.iterdir()} == {"a": b"1", "b": b"2"}
    with pytest.raises(FileExistsError):
        atomic.write_folder(path, {"b": b"3"}, overwrite=False)
    atomic.write_folder(path, {"b": b"3"}, overwrite=True)
    assert (path / "b").read_bytes() == b"3"
    monkeypatch.setattr(os, "fsync", lambda handle: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        atomic.write_folder(tmp_path / "other", {"a": b"1"}, overwrite=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_the_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        atomic.write_file(tmp_path / "file", b"", overwrite=False)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("target")
    with pytest.raises(FileExistsError):
        atomic.write_file(link, b"new", overwrite=False)
    atomic.write_file(link, b"new", overwrite=True)
    assert link.is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_link_in_a_folder_is_replaced_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("of another")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(target)
    atomic.write_file(folder / "link", b"new", True, follows_link=False)
    assert not (folder / "link").is_symlink() and (folder / "link").read_text() == "new"
    (folder / "link").unlink()
    (folder / "link").symlink_to(target)
    atomic.write_folder(folder, {"link": b"new"}, overwrite=True)
    assert not (folder / "link").is_symlink() and target.read_text() == "of another"
    assert {path.name for path in tmp_path.rglob("*")} == {"target", "folder", "link"}


def test_a_checkpoint_writes_through_no_link_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest " * 20)
    checkpoint = tmp_path / "checkpoint"
    expected = Tokenizer.train_files(tmp_path / "a.txt", 260, checkpoint=checkpoint)
    (counts,) = checkpoint.iterdir()
    (tmp_path / "other").write_text("of another")
    counts.unlink()
    counts.symlink_to(tmp_path / "other")
    assert Tokenizer.train_files(tmp_path / "a.txt", 260, checkpoint=checkpoint) == expected
    assert (tmp_path / "other").read_text() == "of another"


def test_an_error_without_a_path_gets_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    saves: list[Callable[[], None]] = [
        lambda: formats.save(MODEL, tmp_path / "a.json"),
        lambda: formats.save(MODEL, tmp_path / "a", format="gpt2"),
        lambda: PretokenCounts.from_texts(["ab"]).save(tmp_path / "a.counts"),
    ]
    for save in saves:
        with pytest.raises(OSError, match="No space left") as caught:
            save()
        assert str(caught.value.filename).startswith(str(tmp_path))
    assert not list(tmp_path.iterdir())


_WRITES = re.compile(r"""open\((?:[^()]*, ?)?["'][rab+]*w|write_(?:bytes|text)\(|O_CREAT(?!.*O_EXCL)""")


def test_no_module_opens_a_file_for_writing_that_may_be_there() -> None:
    root = Path(atomic.__file__).parents[1]
    # A datatrove folder; folders of the process itself; a lock file, whose content does not matter.
    allowed = {"engines/datatrove.py", "engines/datatrove_counts.py"}
    allowed |= {"shards/estimate.py", "shards/publishing.py", "corpus/remote.py", "_internal/folder_lock.py"}
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if _WRITES.search(path.read_text(encoding="utf-8"))
    }
    assert found <= allowed


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "model.json"
    os.mkfifo(pipe)
    (tmp_path / "link.json").symlink_to(pipe)
    for path in (pipe, tmp_path / "link.json"):
        with pytest.raises(OSError, match="pipe, a socket or a device"):
            formats.save(MODEL, path, overwrite=True)
    with pytest.raises(OSError, match="pipe, a socket or a device"):
        atomic.write_folder(tmp_path, {"a": b"1", "model.json": b"2"}, overwrite=True)
    assert pipe.is_fifo() and {entry.name for entry in tmp_path.iterdir()} == {"link.json", "model.json"}


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems have permissions of this kind")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_permissions_and_owner(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    before = path.stat()
    formats.save(MODEL, path, overwrite=True)
    after = path.stat()
    assert formats.load(path) == MODEL
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
