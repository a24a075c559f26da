"""The core's readers of foreign files take what they take as the readers in Python do, and leave the rest to them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer, _core
from pairloom.errors import FormatError, PairloomError
from pairloom.formats import gpt2, huggingface, ranks, tiktoken
from pairloom.model import Model

TEXT = "the cat sat on the mat, the hat on the cat; café 12 \n\n\x00 naïve <x>" * 3


def model_of(seed: int) -> Model:
    rng = random.Random(seed)
    specials = rng.sample(["<|endoftext|>", "<s>", "a b", "Ġ", "é", "<｜x｜>", "the"], rng.randrange(4))
    profile = rng.choice(["bpetite", "cs336", "huggingface"])
    return Tokenizer.train(TEXT, 300 + rng.randrange(40), profile, special_tokens=specials).model


def outcome(read: Callable[[], Model | None]) -> Any:
    try:
        return read()
    except (PairloomError, ValueError, TypeError) as error:
        return type(error), str(error)


def changed(file: dict[str, Any], rng: random.Random) -> bytes:
    """A file with some things as other tools write them, and sometimes one that is wrong."""
    bpe = file["model"]
    if rng.random() < 0.4:
        bpe["merges"] = [merge.split(" ") for merge in bpe["merges"]]
    bpe["ignore_merges"] = rng.random() < 0.4
    if rng.random() < 0.3:
        entries = list(bpe["vocab"].items())
        rng.shuffle(entries)
        bpe["vocab"] = dict(entries)
    if rng.random() < 0.3:
        bpe["model_order"] = bpe.pop("vocab")
        bpe["vocab"] = bpe.pop("model_order")
    wrong: list[Callable[[], object]] = [
        lambda: bpe["merges"].append(bpe["merges"][rng.randrange(len(bpe["merges"]))]),
        lambda: bpe["merges"].append("q Ġz"),
        lambda: bpe["merges"].append(["q"]),
        lambda: bpe["merges"].append(7),
        lambda: bpe["merges"].reverse(),
        lambda: bpe["vocab"].update({"日": 5000}),
        lambda: bpe["vocab"].update({"zq": 5000}),
        lambda: bpe["vocab"].update({"zq": 3}),
        lambda: bpe["vocab"].update({"zq": -1}),
        lambda: bpe["vocab"].update({"zq": 1.5}),
        lambda: bpe["vocab"].update({"": 5000}),
        lambda: bpe["vocab"].update({"zq": 2**40}),
        lambda: bpe["vocab"].pop(rng.choice(list(bpe["vocab"]))),
        lambda: bpe.pop(rng.choice(list(bpe))),
        lambda: file.update({"extra": {"a": [1, {}]}}),
        lambda: file["added_tokens"].clear(),
    ]
    if rng.random() < 0.5:
        rng.choice(wrong)()
    text = json.dumps(file, ensure_ascii=rng.random() < 0.3, indent=rng.choice([None, 2]))
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", '"', "}", ",", "\\", "x"]) + text[at + 1 :]
    return text.encode()


def test_the_core_reads_tokenizer_json_as_python_does() -> None:
    taken = 0
    for seed in range(400):
        rng = random.Random(seed)
        try:
            file = json.loads(huggingface.write(model_of(seed % 40)))
        except PairloomError:
            continue
        data = changed(file, rng)
        found = _core.TokenizerJson.read(data)
        expected = outcome(lambda data=data: huggingface._read(data, "file", None))  # type: ignore[misc]
        assert outcome(lambda data=data: huggingface.read(data, "file")) == expected, seed  # type: ignore[misc]
        taken += found is not None and isinstance(expected, Model)
    assert taken > 50


def test_the_core_reads_vocab_and_merges_as_python_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0
    vocab_path, merges_path = tmp_path / "vocab.json", tmp_path / "merges.txt"
    for seed in range(400):
        rng = random.Random(seed)
        try:
            files = gpt2.write(model_of(seed % 40))
        except PairloomError:
            continue
        vocab, lines = json.loads(files["vocab.json"]), files["merges.txt"].decode().split("\n")
        wrong: list[Callable[[], object]] = [
            lambda lines=lines: lines.pop(0),  # type: ignore[misc]
            lambda lines=lines, rng=rng: lines.insert(rng.randrange(len(lines)), ""),  # type: ignore[misc]
            lambda lines=lines, rng=rng: lines.insert(rng.randrange(1, len(lines)), 'q" \\z'),  # type: ignore[misc]
            lambda lines=lines, rng=rng: lines.insert(1, rng.choice(lines[1:])),  # type: ignore[misc]
            lambda lines=lines: lines.insert(2, "a b c"),  # type: ignore[misc]
            lambda lines=lines: lines.insert(2, "a\t b\r"),  # type: ignore[misc]
            lambda lines=lines: lines.pop(),  # type: ignore[misc]
            lambda lines=lines: lines.__setitem__(slice(None), []),  # type: ignore[misc]
            lambda vocab=vocab: vocab.update({"zq": 3}),  # type: ignore[misc]
            lambda vocab=vocab: vocab.update({"日": 5000}),  # type: ignore[misc]
            lambda vocab=vocab, rng=rng: vocab.pop(rng.choice(list(vocab))),  # type: ignore[misc]
        ]
        if rng.random() < 0.5:
            rng.choice(wrong)()
        text = json.dumps(vocab, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
        if rng.random() < 0.2:
            text += rng.choice([" ", "}", ',"x":1', ',"merges":["a b"],"vocab":{}', "]", "\n"])
        vocab_path.write_text(text, encoding="utf-8")
        merges_path.write_text("\n".join(lines), encoding="utf-8", newline="")
        given: list[Any] = [None, [], ["<s>"], ["<|endoftext|>"], {"<s>": 7000}, ["the"], ["Ġ", "a b"], {"x": -1}, "x"]
        special_tokens = rng.choice(given)
        read = lambda specials=special_tokens: gpt2.read_pair(vocab_path, merges_path, special_tokens=specials)  # noqa: E731
        found = outcome(read)
        with monkeypatch.context() as patched:
            taken += gpt2._taken_by_core(vocab_path.read_bytes(), merges_path.read_bytes(), {}) is not None
            patched.setattr(gpt2, "_taken_by_core", lambda *_: None)
            assert outcome(read) == found, (seed, special_tokens)
    assert taken > 50


@pytest.mark.parametrize("behind", [',"x":1', ',"x":{"vocab":{}}', "},{", '},"x":{"a":1', ',"merges":[],"y":{}'])
def test_what_stands_behind_vocab_json_is_refused(behind: str, tmp_path: Path) -> None:
    files = gpt2.write(Tokenizer.train(TEXT, 270).model)
    assert gpt2._taken_by_core(files["vocab.json"], files["merges.txt"], {}) is not None
    (tmp_path / "merges.txt").write_bytes(files["merges.txt"])
    (tmp_path / "vocab.json").write_bytes(files["vocab.json"] + behind.encode())
    with pytest.raises(FormatError, match="not JSON: Extra data"):
        gpt2.read(tmp_path)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_tokenizer_json_as_it_is_written_is_read_by_the_core(indent: int | None) -> None:
    data = huggingface.write(Tokenizer.train(TEXT, 320).model, indent)
    found = _core.TokenizerJson.read(data)
    assert found is not None
    vocabulary, rest = found
    assert json.loads(rest)["model"]["vocab"] == {} and json.loads(rest)["model"]["merges"] == []
    assert len(vocabulary) == len(json.loads(data)["model"]["vocab"])


@pytest.mark.parametrize("special_tokens", [None, ["<s>"], {"<s>": 5000}, {"th": 5000}, ["a"], {"<s>": 3}, {"<s>": -1}])
def test_the_core_reads_tiktoken_files_as_python_does(special_tokens: Any) -> None:
    for seed in range(12):
        model = Tokenizer.train(TEXT, 290 + seed).model
        data = tiktoken.write(model)
        found = tiktoken._line_by_line(data, "file")
        expected = outcome(lambda found=found: tiktoken.from_ranks(found, "gpt2", special_tokens, "file"))  # type: ignore[misc]
        read = outcome(lambda data=data: tiktoken.read(data, "file", pattern="gpt2", special_tokens=special_tokens))  # type: ignore[misc]
        assert read == expected
        assert _core.read_tiktoken(data) is not None
        # Any other form is left to the reader in Python.
        assert _core.read_tiktoken(data.replace(b"\n", b"\r\n")) is None


def test_the_one_form_of_a_model_is_that_of_its_ranks() -> None:
    for seed in range(40):
        given = model_of(seed)
        model = given.replaced(ignore_merges=True).one_form()
        by_ranks = given.replaced(rule="ranks", merges=given.merges[:0], ignore_merges=True)
        if model.ignore_merges and model.rule == "pairs":
            assert ranks._why_not_ranks(given) is not None
        else:
            assert model == by_ranks.one_form()
