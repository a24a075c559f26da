"""Packs the JavaScript package: `python scripts/pack_javascript.py MODULE.wasm FOLDER`, prints the path of its .tgz.

The version is the workspace's. This script packs it instead of npm, so that equal sources make equal bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def packed(module: Path, folder: Path) -> Path:
    """Writes the package and returns its path."""
    sources = ROOT / "crates/wasm/js"
    package = json.loads((sources / "package.json").read_text(encoding="utf-8"))
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    package = {"name": package["name"], "version": workspace["package"]["version"], **package}
    from_elsewhere = {"pairloom.wasm": module, "LICENSE": ROOT / "LICENSE"}
    files = {"package.json": (json.dumps(package, indent=2) + "\n").encode()}
    for name in [*package["files"], "README.md"]:
        files[name] = from_elsewhere.get(name, sources / name).read_bytes()
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{package['name']}-{package['version']}.tgz"
    path.write_bytes(gzip.compress(tar.getvalue(), mtime=0))
    return path


if __name__ == "__main__":
    print(packed(Path(sys.argv[1]), Path(sys.argv[2])))
