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


def esperberto(m: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """How to train a new language model from scratch (huggingface.co/blog/how-to-train)."""
    ByteLevelBPETokenizer = m["implementations"].ByteLevelBPETokenizer
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train(
        files=written(folder),
        vocab_size=400,
        min_frequency=2,
        show_progress=False,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    )
    saved = tokenizer.save_model(str(folder))
    saved += tokenizer.save_model(str(folder), "esperberto")

    tokenizer = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer._tokenizer.post_processor = m["processors"].BertProcessing(
        ("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>"))
    )
    tokenizer.enable_truncation(max_length=12)
    found = tokenizer.encode("Mi estas Julien. Ĉu vi parolas Esperanton?")
    shown = [Path(path).name for path in saved], found.ids, found.tokens, found.offsets
    return tokenizer.to_str(), (shown, tokenizer.num_special_tokens_to_add(True), tokenizer.get_vocab_size())


def roberta(m: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """RoBERTa pre-training for another language: from_file, padding, special tokens that are added later."""
    ByteLevelBPETokenizer = m["implementations"].ByteLevelBPETokenizer
    tokenizer = ByteLevelBPETokenizer(lowercase=True, unicode_normalizer="nfkc", add_prefix_space=True)
    tokenizer.train(written(folder)[0], 350, 2, False, ["<s>", "<pad>", "</s>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.save_model(str(folder))
    tokenizer = ByteLevelBPETokenizer.from_file(
        str(folder / "vocab.json"), str(folder / "merges.txt"), lowercase=True, add_prefix_space=True
    )
    n_added = tokenizer.add_special_tokens(["<s>", "</s>", m["tokenizers"].AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = m["processors"].RobertaProcessing(
        sep=("</s>", tokenizer.token_to_id("</s>")), cls_token=("<s>", tokenizer.token_to_id("<s>"))
    )
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>", length=40)
    found = tokenizer.encode_batch(["Lily <mask> to PLAY", ("Naïve", "Façade")])
    shown: list[Any] = [(each.ids, each.attention_mask, tokenizer.decode(each.ids)) for each in found]
    shown += [(each.tokens, each.offsets) for each in tokenizer.encode_batch(["lily <mask> to play", "<mask>", "a "])]
    return tokenizer.to_str(pretty=True), (n_added, shown)


def nanochat(m: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """nanochat's wrapper class: the methods of a trained tokenizer that it calls."""
    pre = m["pre_tokenizers"]
    tokenizer = m["tokenizers"].Tokenizer(m["models"].BPE(byte_fallback=True, unk_token=None, fuse_unk=False))
    tokenizer.normalizer = None
    pattern = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    )
    tokenizer.pre_tokenizer = pre.Sequence(
        [
            pre.Split(pattern=m["tokenizers"].Regex(pattern), behavior="isolated", invert=False),
            pre.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = m["decoders"].ByteLevel()
    tokenizer.post_processor = None
    special = ["<|bos|>", "<|user_start|>", "<|user_end|>", "<|python_start|>"]
    trainer = m["trainers"].BpeTrainer(
        vocab_size=380,
        show_progress=False,
        min_frequency=0,
        initial_alphabet=pre.ByteLevel.alphabet(),
        special_tokens=special,
    )
    tokenizer.train_from_iterator(iter(TEXTS), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer = m["tokenizers"].Tokenizer.from_file(str(folder / "tokenizer.json"))
    specials = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    ids = [tokenizer.token_to_id("<|bos|>"), *tokenizer.encode("print(12345)", add_special_tokens=False).ids]
    shown = ids, [tokenizer.id_to_token(each) for each in ids], tokenizer.decode(ids, skip_special_tokens=False)
    return tokenizer.to_str(), (shown, specials, tokenizer.get_vocab_size())


def babylm(m: dict[str, Any], folder: Path) -> tuple[str, Any]:
    """GPT-BERT's tokenizer for BabyLM: regular expressions as normalizers, pieces of at most 24 letters."""
    n, pre, d, Regex = m["normalizers"], m["pre_tokenizers"], m["decoders"], m["tokenizers"].Regex
    special = ["<unk>", "<s>", "</s>", "<pad>", "<mask>", *(f"<special_{index}>" for index in range(11))]
    model = m["models"].BPE(unk_token="<unk>", byte_fallback=False, fuse_unk=False, ignore_merges=True)
    tokenizer = m["tokenizers"].Tokenizer(model)
    tokenizer.normalizer = n.Sequence(
        [n.Prepend(" "), n.NFKC(), n.Replace(Regex("\n"), "\n "), n.Replace(Regex(" *\n"), "\n")]
    )
    words = (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer.pre_tokenizer = pre.Sequence(
        [
            pre.Split(Regex(words), behavior="isolated", invert=False),
            pre.ByteLevel(add_prefix_space=False, use_regex=False),
            pre.Split(Regex(".{1,24}"), behavior="isolated", invert=False),
        ]
    )
    tokenizer.decoder = d.Sequence([d.ByteLevel(), d.Strip(" ", 1, 0), d.Replace("\n ", "\n")])
    tokenizer.post_processor = m["processors"].TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    trainer = m["trainers"].BpeTrainer(
        vocab_size=420,
        special_tokens=special,
        min_frequency=2,
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((text.strip() for text in TEXTS), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    found = tokenizer.encode("Let's see, you'd like\nmore juice")
    n_added = tokenizer.post_processor.num_special_tokens_to_add(False)
    return tokenizer.to_str(), (found.ids, found.tokens, tokenizer.decode(found.ids), n_added)


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


SCRIPTS: list[Script] = [
    quicktour,
    esperberto,
    roberta,
    nanochat,
    babylm,
    codeparrot,
]


OURS = "pairloom.dropin.tokenizers"


def parts(library: str) -> dict[str, Any]:
    """Returns what the scripts import, by name."""
    names = ("models", "trainers", "pre_tokenizers", "normalizers", "decoders", "processors", "implementations")
    modules = {name: importlib.import_module(f"{library}.{name}") for name in names}
    return {**modules, "tokenizers": importlib.import_module(library)}


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_gives_the_file_and_ids_of_the_library(script: Script, tmp_path: Path) -> None:
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
