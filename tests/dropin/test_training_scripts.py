"""Training scripts published for the library run with only the import changed, and write the library's file.

The scripts are unchanged except that their imports are passed as arguments.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXTS = [
    "Mi estas Julien. Ĉu vi parolas Esperanton? Jes, mi parolas ĝin tre bone!\n",
    "import os\n\n\ndef main(argv):\n\tfor i in range(10):\n\t\tprint(i)  # comment\n    return 0\n",
    "Once upon a time, there was a little girl named Lily. She loved to play outside.\n\n",
    "*CHI:\twant more juice .\n*MOT:\tyou'd like some more juice?  Let's see…\n",
    "ﬁnd naïve façade, 12345 Größen, 漢字とかな, кошка и собака — “quoted” 😁\n",
] * 4

Script = Callable[[dict[str, Any], Path], tuple[str, Any]]
"""Given the modules by name and a folder, what it saves and what it prints."""


def written(folder: Path) -> list[str]:
    """Writes the texts as files, some with several lines."""
    (folder / "data").mkdir(exist_ok=True)
    paths = [folder / "data" / f"part-{index}.txt" for index in range(3)]
    for index, path in enumerate(paths):
        path.write_text("".join(TEXTS[index::3]), encoding="utf-8")
    return [str(path) for path in sorted((folder / "data").glob("**/*.txt"))]


def quicktour(m: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """The quicktour of the library's documentation: training, saving, loading, encoding, a template, padding."""
    Tokenizer = m["tokenizers"].Tokenizer
    tokenizer = Tokenizer(m["models"].BPE(unk_token="[UNK]"))
    trainer = m["trainers"].BpeTrainer(
        special_tokens=["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], show_progress=False
    )
    tokenizer.pre_tokenizer = m["pre_tokenizers"].Whitespace()
    tokenizer.train(written(folder), trainer)
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


def codeparrot(m: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """CodeParrot's bpe_training.py, and the course's: a tokenizer of transformers learns a new vocabulary."""
    transformers = pytest.importorskip("transformers")
    alphabet = m["pre_tokenizers"].ByteLevel.alphabet()
    base = m["tokenizers"].Tokenizer(m["models"].BPE())
    base.pre_tokenizer = m["pre_tokenizers"].ByteLevel(add_prefix_space=False)
    base.decoder = m["decoders"].ByteLevel()
    trainer = m["trainers"].BpeTrainer(
        vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    base.train_from_iterator(TEXTS[:2], trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=base, eos_token="<|endoftext|>")
    new = tokenizer.train_new_from_iterator(iter([TEXTS[:10], TEXTS[10:]]), vocab_size=350, initial_alphabet=alphabet)
    new.save_pretrained(str(folder / "codeparrot"))
    return base.to_str(), (new("def main(argv):").input_ids, new.backend_tokenizer.to_str())


def parts(library: str) -> dict[str, Any]:
    """Returns what the scripts import, by name."""
    names = ("models", "trainers", "pre_tokenizers", "normalizers", "decoders", "processors", "implementations")
    modules = {name: importlib.import_module(f"{library}.{name}") for name in names}
    return {**modules, "tokenizers": importlib.import_module(library)}


@pytest.mark.parametrize("script", [quicktour, codeparrot])
def test_script_gives_the_file_and_ids_of_the_library(script: Script, tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    found = script(parts("pairloom.dropin.tokenizers"), tmp_path / "ours")
    expected = script(parts("tokenizers"), tmp_path / "theirs")
    assert found == expected
    ours, theirs = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
        for folder in (tmp_path / "ours", tmp_path / "theirs")
    )
    assert ours == theirs
