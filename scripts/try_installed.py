"""Tests an installed pairloom outside the project: trains, encodes, decodes, saves, loads.

    python scripts/try_installed.py

Prints the version, the CPU tier and the package's location; fails if that is the source tree.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pairloom
from pairloom import Tokenizer


def main() -> int:
    """Returns 0 if everything works."""
    where = Path(pairloom.__file__).parent
    if where.parent == Path(__file__).parents[1] / "src":
        raise SystemExit(f"{where} is the source tree; install a wheel or the source distribution first")
    text = "the quick brown fox, the lazy dog and the thing"
    tokenizer = Tokenizer.train(text, 262)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        tokenizer.save(path)
        loaded = Tokenizer.load(path)
        ids = loaded.encode(text)
        if ids != tokenizer.encode(text) or loaded.decode(ids) != text:
            raise SystemExit("a tokenizer that was saved and loaded encodes otherwise")
        command = [sys.executable, "-m", "pairloom", "encode", "--model", str(path), "--text", text]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if [int(word) for word in printed.replace(",", " ").strip("[] \n").split()] != ids:
            raise SystemExit(f"the command line encodes otherwise: {printed}")
    print(f"pairloom {pairloom.__version__}, {pairloom.cpu_tier()}, {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
