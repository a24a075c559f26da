"""Training scripts published for the library run with only the import changed, and write the library's file."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from . import published_scripts

OURS = "pairloom.dropin.tokenizers"


def parts(library: str) -> dict[str, Any]:
    """Returns what the scripts import, by name."""
    names = ("models", "trainers", "pre_tokenizers", "normalizers", "decoders", "processors", "implementations")
    modules = {name: importlib.import_module(f"{library}.{name}") for name in names}
    return {**modules, "tokenizers": importlib.import_module(library)}


@pytest.mark.parametrize("script", published_scripts.SCRIPTS)
def test_script_gives_the_file_and_ids_of_the_library(script: published_scripts.Script, tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    found = script(parts(OURS), tmp_path / "ours")
    expected = script(parts("tokenizers"), tmp_path / "theirs")
    assert found == expected
    ours, theirs = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
        for folder in (tmp_path / "ours", tmp_path / "theirs")
    )
    assert ours == theirs
