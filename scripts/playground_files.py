"""Writes the generated files of the playground: `python scripts/playground_files.py MODULE.wasm FOLDER`.

They are the engine, its package, the menu's tokenizers, and a version for use from disk. Browsers let no page from disk
load modules or fetch files: from-disk.js is one script of all modules, with the files in base64.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import sysconfig
from pathlib import Path

from pairloom import Tokenizer
from pairloom.formats import native

ROOT = Path(__file__).resolve().parents[1]
PLAYGROUND = ROOT / "docs/playground"
PACKAGE = ROOT / "crates/wasm/js"
VIEW = ROOT / "src/pairloom/view"
N_BYTES = 2_000_000


def files(module: Path) -> dict[str, bytes]:
    """Returns the generated files by path: without the engine, only the code that draws and calls it."""
    made = {"pairloom/index.js": (PACKAGE / "index.js").read_bytes()}
    made |= {name: (VIEW / name).read_bytes() for name in ("display.js", "display.css")}
    if module.is_file():
        made |= {"pairloom/pairloom.wasm": module.read_bytes()} | tokenizers()
        made["from-disk.js"] = from_disk(made)
    return made


def tokenizers() -> dict[str, bytes]:
    """Returns the menu's tokenizers, trained on text of this repository and of Python's standard library."""
    library = Path(sysconfig.get_paths()["stdlib"])
    english = [library / "pydoc_data/topics.py", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    corpora = {
        "english": (english, "gpt2", 4000),
        "code": (sorted(library.glob("*.py")), "cl100k", 4000),
        "languages": ([PLAYGROUND / "languages.txt"], "o200k", 700),
    }
    made = {}
    for name, (paths, pattern, vocab_size) in corpora.items():
        text = "\n".join(path.read_text(encoding="utf-8") for path in paths)[:N_BYTES]
        tokenizer = Tokenizer.train([text], vocab_size, pattern=pattern, min_frequency=2, special_tokens=())
        made[f"{name}.json"] = native.write(tokenizer.model)
    return made


def from_disk(made: dict[str, bytes]) -> bytes:
    """Returns one classic script: the files, then each module as a function, after the modules that it imports."""
    data = {
        Path(name).name: base64.b64encode(content).decode()
        for name, content in made.items()
        if name.endswith((".wasm", ".json"))
    }
    done: dict[str, str] = {}

    def add(path: Path) -> None:
        source = path.read_text(encoding="utf-8")
        for name in re.findall(r'^import .* from "\./(.*)";$', source, re.MULTILINE):
            if name not in done:
                add(_source_of(name))
        source = re.sub(r'^import (.*) from "\./(.*)";$', r'const \1 = modules["\2"];', source, flags=re.MULTILINE)
        names = re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", source, re.MULTILINE)
        source = re.sub(r"^export ", "", source, flags=re.MULTILINE).replace("import.meta.url", "document.baseURI")
        body = f"{source}\nreturn {{ {', '.join(names)} }};"
        done[_name_of(path)] = f'modules["{_name_of(path)}"] = await (async () => {{\n{body}\n}})();\n'

    add(PLAYGROUND / "playground.js")
    start = f"globalThis.pairloomFiles = {json.dumps(data)};\n(async () => {{\nconst modules = {{}};\n"
    return (start + "".join(done.values()) + "})();\n").encode()


def _source_of(name: str) -> Path:
    places = {"pairloom/index.js": PACKAGE / "index.js", "display.js": VIEW / name}
    return places.get(name, PLAYGROUND / name)


def _name_of(path: Path) -> str:
    return "pairloom/index.js" if path.parent == PACKAGE else path.name


if __name__ == "__main__":
    for name, content in files(Path(sys.argv[1])).items():
        path = Path(sys.argv[2], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
