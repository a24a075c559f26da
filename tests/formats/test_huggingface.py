"""HuggingFace's tokenizer.json and its older pair of files (GPT-2's), its regex dialect, and the library itself."""

import json
import pickle
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from pairloom import Tokenizer, formats
from pairloom.errors import FormatError
from pairloom.formats import gpt2, huggingface
from pairloom.model import Model

from .models import ENDOFTEXT, trained

MODEL = trained([(97, 98), (32, 256), (99, 100)], decode_errors="replace")


def edited(edit: Callable[[dict[str, Any]], object]) -> bytes:
    file = json.loads(huggingface.write(MODEL))
    edit(file)
    return json.dumps(file).encode()


def test_without_a_decoder_bytes_are_decoded() -> None:
    assert formats.read("huggingface", edited(lambda f: f.update(decoder=None))) == MODEL


def test_every_split_of_a_token_may_be_listed() -> None:
    def all_splits(file: dict[str, Any]) -> None:
        file["model"]["vocab"].update({ENDOFTEXT: 259, "bc": 300, "abc": 301})
        file["model"]["merges"] += ["b c", "ab c", "a bc"]
        file["model"]["ignore_merges"] = True

    model = formats.read("huggingface", edited(all_splits))
    assert (model.rule, model.ignore_merges) == ("pairs", False)
    assert model.merges[-2:].tolist() == [[98, 99, 300], [256, 99, 301]]


def test_what_a_tokenizer_json_cannot_express_is_refused() -> None:
    with pytest.raises(FormatError, match="byte that is not in the vocabulary"):
        huggingface.write(Model.from_tokens({0: b"ab"}, rule="ranks", ignore_merges=True, pattern="a"))


def normalized(texts: dict[str, bool]) -> bytes:
    """A tokenizer.json with these added tokens, each normalized or not."""
    file = json.loads(huggingface.write(trained([])))
    flags = {"special": False, "single_word": False, "lstrip": False, "rstrip": False}
    file["added_tokens"] = [
        {"id": 256 + n, "content": text, "normalized": flag, **flags} for n, (text, flag) in enumerate(texts.items())
    ]
    return json.dumps(file).encode()


def test_overlapping_added_tokens_name_which_is_found_first() -> None:
    rng = random.Random(1)
    n_late = 0
    for _ in range(400):
        texts = {"".join(rng.choices("abc", k=rng.randint(2, 6))): rng.random() < 0.5 for _ in range(3)}
        first, second = ([text for text, flag in texts.items() if flag is wanted] for wanted in (False, True))
        overlap = any(
            before in after or any(before.startswith(after[at:]) for at in range(1, len(after)))
            for before in first
            for after in second
        )
        model = formats.read("huggingface", normalized(texts))
        assert model.special_tokens.keys() == texts.keys()
        assert model.special_rules == (tuple((text, "normalized") for text in sorted(second)) if overlap else ())
        n_late += overlap
    assert 100 < n_late < 300


def test_added_tokens_of_half_a_megabyte() -> None:
    texts = {"a" * 500_000: False, "b" * 500_000: True}
    model = formats.read("huggingface", normalized(texts))
    assert model.special_tokens == {text: 256 + n for n, text in enumerate(texts)}
    assert model.special_rules == (("b" * 500_000, "normalized"),)


WRITTEN = "the cat sat on the mat, the hat on the cat; café 12 \n\n\x00 naïve <x>" * 3


def test_other_writings_of_a_tokenizer_json_are_the_same_model() -> None:
    specials = ["<|endoftext|>", "a b", "<｜x｜>"]
    file = json.loads(huggingface.write(Tokenizer.train(WRITTEN, 330, "huggingface", special_tokens=specials).model))
    expected = formats.read("huggingface", json.dumps(file).encode())
    rng = random.Random(1)
    for _ in range(20):
        for where in (file, file["model"], file["model"]["vocab"]):
            entries = list(where.items())
            rng.shuffle(entries)
            where.clear()
            where.update(entries)
        text = json.dumps(file, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
        assert formats.read("huggingface", text.encode()) == expected


def test_foreign_entries_are_tokens_of_their_own_text() -> None:
    file = json.loads(huggingface.write(Tokenizer.train(WRITTEN, 270, special_tokens=()).model))
    vocab, merges = file["model"]["vocab"], file["model"]["merges"]
    vocab.update({"日": 5000, "本": 5001, "日本": 5002, "<s>": 5003, "æľª": 5004, "未": 5005})
    merges.append("日 本")
    file["added_tokens"] = [
        {"id": 5003, "content": "<s>", "special": True},
        {"id": 5005, "content": "未", "special": True},
    ]
    model = formats.read("huggingface", json.dumps(file).encode())
    tokens = model.tokens()
    assert tokens[5002] == "日本".encode() and tokens[5004] == "未".encode()
    assert tokens.keys().isdisjoint((5003, 5005)) and model.merges[-1].tolist() == [5000, 5001, 5002]
    vocab["æĹ¥"] = 6000
    with pytest.raises(FormatError, match="ids 5000 and 6000 have the same bytes"):
        formats.read("huggingface", json.dumps(file).encode())
    del vocab["æĹ¥"]
    file["model"]["ignore_merges"] = True
    with pytest.raises(FormatError, match='token "日" has characters outside the GPT-2 byte alphabet'):
        formats.read("huggingface", json.dumps(file).encode())


# What surrounds the model ---------------------------------------------------------------------------------------


_P = tokenizers.processors
_TEMPLATE = _P.TemplateProcessing(
    single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 256), ("</s>", 257)]
)
PROCESSORS: dict[str, Any] = {
    "bert": _P.BertProcessing(("</s>", 257), ("<s>", 256)),
    "template": _TEMPLATE,
    "roberta": _P.RobertaProcessing(("</s>", 257), ("<s>", 256), trim_offsets=False),
    "several": _P.Sequence([_P.ByteLevel(trim_offsets=False), _TEMPLATE]),
    "byte level": _P.ByteLevel(trim_offsets=False),
}


def library_tokenizer(processor: str | None) -> Any:
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = tokenizers.decoders.ByteLevel()
    theirs.add_special_tokens(["<s>", "</s>"])
    if processor is not None:
        theirs.post_processor = PROCESSORS[processor]
    return theirs


def test_an_added_token_like_letters_is_saved_after_all_others(tmp_path: Path) -> None:
    theirs = library_tokenizer(None)
    theirs.add_tokens(["<x>", "\u00e9!", "<y>"])
    ours = Tokenizer.from_huggingface(theirs)
    ours.save(tmp_path / "tokenizer.json", format="huggingface")
    assert Tokenizer.load(tmp_path) == ours
    saved = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    text = "<s>\u00e9!<x>a<y>"
    assert saved.encode(text).ids == theirs.encode(text).ids == ours.encode(text)
    moved = Model.from_tokens(ours.model.tokens(), special_tokens={"<s>": 256, "\u00e9!": 300}, pattern="gpt2")
    with pytest.raises(FormatError, match="in its vocabulary, that string means the token"):
        formats.save(moved, tmp_path / "moved.json", format="huggingface")


@pytest.mark.parametrize("processor", PROCESSORS)
def test_ids_around_texts_and_of_padding_move_with_their_tokens(processor: str) -> None:
    theirs = library_tokenizer(processor)
    theirs.enable_padding(pad_id=257, pad_token="</s>")
    ours = Tokenizer.from_huggingface(theirs)
    extended = ours.extend("abab" * 9, n_tokens=3, keep_ids=False)
    assert extended.special_tokens == {"<s>": 259, "</s>": 260}
    again = extended.to_huggingface()
    assert again.padding["pad_id"] == 260
    for pair in (None, "d"):
        old, new = theirs.encode("c", pair), again.encode("c", pair)
        assert new.tokens == old.tokens
        assert new.ids == [again.token_to_id(token) for token in old.tokens]
        assert extended.encode("c", pair, add_special_tokens=True) == new.ids
    back = extended.truncate_vocab(256, specials_counted=False)
    assert back.post_processor == ours.post_processor and back.special_tokens == ours.special_tokens


def test_truncation_and_padding_are_kept_and_not_applied(tmp_path: Path) -> None:
    theirs = library_tokenizer(None)
    plain = Tokenizer.from_huggingface(theirs)
    theirs.enable_truncation(3)
    theirs.enable_padding(pad_id=256, pad_token="<s>", pad_to_multiple_of=8)
    path, expected = tmp_path / "tokenizer.json", json.loads(theirs.to_str())
    theirs.save(str(path))
    roads: list[tuple[Callable[[], Tokenizer], int]] = [
        (lambda: Tokenizer.load(path), 1),
        (lambda: Tokenizer.load(tmp_path), 1),
        (lambda: Tokenizer.from_huggingface(tmp_path), 1),
        (lambda: Tokenizer.from_huggingface(theirs), 1),
        (lambda: Tokenizer.load(tmp_path / "own.json"), 0),
        (lambda: pickle.loads(pickle.dumps(ours)), 0),
    ]
    for make, n_warnings in roads:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours = make()
        assert len(caught) == n_warnings
        assert all("sets padding and truncation: pairloom keeps this" in str(warning.message) for warning in caught)
        assert ours.encode("a text of more than three") == plain.encode("a text of more than three")
        assert ours != plain and ours.with_tokenizer_config(**{"tokenizer.json": None}) == plain
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ours.save(tmp_path / "again.json", overwrite=True, format="huggingface")
            ours.save(tmp_path / "own.json", overwrite=True)
            ours.save_pretrained(tmp_path / "folder", overwrite=True)
        for written in (tmp_path / "again.json", tmp_path / "folder" / "tokenizer.json"):
            file = json.loads(written.read_text())
            assert None is not file["truncation"] == expected["truncation"]
            assert None is not file["padding"] == expected["padding"]
        assert "tokenizer.json" not in json.loads((tmp_path / "folder" / "tokenizer_config.json").read_text())
        assert ours.to_huggingface().truncation == theirs.truncation


def pair(folder: Path, vocab: object, merges: str) -> tuple[Path, Path]:
    names = folder / "vocab.json", folder / "merges.txt"
    names[0].write_text(json.dumps(vocab))
    names[1].write_text(merges)
    return names


@pytest.mark.parametrize("specials", [{}, {ENDOFTEXT: 258}, {"<|a b|>": 300, "é｜": 258}])
def test_what_is_saved_comes_back(tmp_path: Path, specials: dict[str, int]) -> None:
    model = trained([(97, 98), (32, 256)], special_tokens=specials, decode_errors="replace")
    formats.save(model, tmp_path / "folder", format="gpt2")
    assert formats.load(tmp_path / "folder", special_tokens=list(specials)) == model
    if specials:
        with pytest.warns(UserWarning, match=f"merges.txt: {len(specials)} of .* are never used.* special_tokens"):
            formats.load(tmp_path / "folder")
        with pytest.warns(UserWarning, match=f"merges.txt: {len(specials)} of .* are never used"):
            formats.load(tmp_path / "folder", special_tokens=["<another>"])
        # As in DialoGPT: the transformers class knows <|endoftext|>, but no file contains it.
        (tmp_path / "folder/tokenizer_config.json").write_text('{"model_max_length": 1024}')
        names = ", ".join(map(repr, sorted(specials, key=specials.__getitem__)))
        with pytest.warns(UserWarning, match=re.escape(f"({names})")):
            formats.load(tmp_path / "folder")
    assert (tmp_path / "folder/merges.txt").read_bytes() == "#version: 0.2\na b\nĠ ab\n".encode()


@pytest.mark.parametrize("first", ["", "#version: 0.2\n"])
def test_merges_of_hash_signs_and_windows_lines(tmp_path: Path, first: str) -> None:
    vocab = {"#": 0, "v": 1, "##": 2, "#v": 3, "##v": 4}
    model = gpt2.read_pair(*pair(tmp_path, vocab, first + "# #\r\n# v\r\n## v\r\n\r\n"))
    assert model.merges.tolist() == [[0, 0, 2], [0, 1, 3], [2, 1, 4]]


def test_a_space_inside_a_token_is_no_separator(tmp_path: Path) -> None:
    vocab = {"a": 0, " ": 1, " a": 2, "a a": 3}
    model = gpt2.read_pair(*pair(tmp_path, vocab, "  a\na  a\n"))
    assert model.merges.tolist() == [[1, 0, 2], [0, 2, 3]]


def test_a_pair_needs_both_files(tmp_path: Path) -> None:
    pair(tmp_path, {}, "")[1].unlink()
    with pytest.raises(FileNotFoundError, match=r"merges\.txt"):
        formats.load(tmp_path)
