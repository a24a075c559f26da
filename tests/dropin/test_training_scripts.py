"""Training scripts published for the library run with only the import changed, and write the library's file."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import published_scripts

OURS = "pairloom.dropin.tokenizers"
TEXTS = [
    "The quick brown fox jumps over the lazy dog, and the dog doesn't care.",
    "def main(argv):\n    return len(argv) + 12345\n",
    "Once upon a time there was a little girl named Lily. She loved the sun.\n",
    "Größe, naïve, 漢字 and кошка: other letters, too.",
] * 5


def parts(library: str) -> dict[str, Any]:
    """Returns what the scripts import, by name."""
    names = ("models", "trainers", "pre_tokenizers", "normalizers", "decoders", "processors", "implementations")
    modules = {name: importlib.import_module(f"{library}.{name}") for name in names}
    return {**modules, "tokenizers": importlib.import_module(library)}


def files_of(folder: Path) -> list[str]:
    paths = []
    for index, text in enumerate(TEXTS[:4]):
        paths.append(str(folder / f"wiki.{index}.raw"))
        Path(paths[-1]).write_text(text * 5, encoding="utf-8")
    return paths


def quicktour(m: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """From the library's documentation: training, saving, loading, encoding, a template, padding."""
    Tokenizer = m["tokenizers"].Tokenizer
    tokenizer = Tokenizer(m["models"].BPE(unk_token="[UNK]"))
    trainer = m["trainers"].BpeTrainer(
        special_tokens=["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], show_progress=False
    )
    tokenizer.pre_tokenizer = m["pre_tokenizers"].Whitespace()
    tokenizer.train(files_of(folder), trainer)
    tokenizer.save(str(folder / "tokenizer-wiki.json"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer-wiki.json"))
    output = tokenizer.encode("Hello, y'all! How is the fox 😁 ?")
    shown = [output.tokens, output.ids, output.offsets[9], tokenizer.token_to_id("[SEP]")]
    tokenizer.post_processor = m["processors"].TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", tokenizer.token_to_id("[CLS]")), ("[SEP]", tokenizer.token_to_id("[SEP]"))],
    )
    output = tokenizer.encode("Hello, y'all!", "How is the fox 😁 ?")
    shown += [output.tokens, output.type_ids]
    tokenizer.enable_padding(pad_id=3, pad_token="[PAD]")
    output = tokenizer.encode_batch(["Hello, y'all!", ["How is the fox 😁 ?", "lazy dog"]])
    shown += [(each.tokens, each.attention_mask) for each in output]
    return tokenizer.to_str(), shown


SCRIPTS = [*published_scripts.SCRIPTS, quicktour]


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_gives_the_file_and_ids_of_the_library(
    script: Callable[[dict[str, Any], Path], tuple[str, Any]], tmp_path: Path
) -> None:
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
