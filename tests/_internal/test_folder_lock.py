"""The lock on a folder: one run at a time, even if the folder is created or removed meanwhile."""

import os
from pathlib import Path

import pytest

from pairloom._internal.folder_lock import locked_folder, locked_new_folder


def test_who_is_refused_leaves_the_empty_folder_of_another_run(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    with locked_new_folder(folder):
        with pytest.raises(FileExistsError, match="another run"), locked_new_folder(folder):
            pass
        (folder / "written").write_bytes(b"")
    assert folder.exists()


def test_a_folder_removed_before_its_lock_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    opened = os.open

    def open_and_replace(path: Path, flags: int) -> int:
        handle = opened(path, flags)
        folder.rmdir()
        folder.mkdir()
        return handle

    monkeypatch.setattr(os, "open", open_and_replace)
    with pytest.raises(FileExistsError, match="another run"), locked_folder(folder):
        pass
