"""Comparison: the first difference of two tokenizers, against a plain search; `pairloom compare`."""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiktoken
import tokenizers

from pairloom import Tokenizer
from pairloom.analysis.compare import Side, compare, load_side, side_of
from pairloom.formats.huggingface import to_huggingface
from pairloom.formats.tiktoken import to_tiktoken
from tests.cli.commands import failed, output, run
from tests.corpora import random_documents
from tests.corpus.files import json_lines

TEXT = "the cat sat on the mat, the cat ate the rat; naïve 東京 123 the end"


def ends_of(side: Side, text: str) -> list[int]:
    return [int(end) for end in np.cumsum([len(side.token(i)) for i in side.encode(text).tolist()])]


def first_different(left: list[int], right: list[int]) -> int | None:
    if left == right:
        return None
    return next((at for at, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))


@pytest.mark.parametrize("seed", range(30))
def test_compare_equals_a_plain_search(seed: int) -> None:
    rng = random.Random(seed)
    documents = [(f"document {n}", text) for n, text in enumerate(random_documents(rng))]
    first = side_of(Tokenizer.train([text for _, text in documents], 262), "first")
    second = side_of(Tokenizer.train([text[::2] for _, text in documents], 262, "huggingface"), "second")
    found = compare(first, second, documents)
    assert (found["n_documents"], found["n_altered"]) == (len(documents), [0, 0])
    assert found["n_bytes"] == sum(len(text.encode()) for _, text in documents)
    ids = [[side.encode(text).tolist() for _, text in documents] for side in (first, second)]
    assert found["n_tokens"] == [sum(map(len, each)) for each in ids]
    ends = [[ends_of(side, text) for _, text in documents] for side in (first, second)]
    for kind, n_differing, columns in (
        (found["ids"], found["n_differing_ids"], ids),
        (found["cuts"], found["n_differing_cuts"], ends),
    ):
        indices = [first_different(a, b) for a, b in zip(*columns)]
        assert n_differing == sum(index is not None for index in indices)
        at = next((n for n, index in enumerate(indices) if index is not None), None)
        assert (kind is None) == (at is None)
        if kind is None or at is None:
            continue
        index = indices[at]
        assert index is not None
        assert kind["document"] == f"document {at}"
        assert kind["byte_offset"] == [0, *ends[0][at]][index]
        for window, each in zip(kind["windows"], ids):
            assert window["ids"] == each[at][max(index - 3, 0) : index + 5]
            assert window["ids"][window["at"] :] == each[at][index : index + 5]


def test_the_same_tokenizer_through_three_libraries() -> None:
    tokenizer = Tokenizer.train([TEXT], 300, decode_errors="replace")
    documents = [("text", TEXT + "<|endoftext|>" + TEXT), ("empty", "")]
    ours = side_of(tokenizer, "pairloom")
    for other in (to_tiktoken(tokenizer.model), to_huggingface(tokenizer.model)):
        found = compare(ours, side_of(other, "other"), documents)
        assert (found["n_differing_ids"], found["ids"], found["cuts"]) == (0, None, None)
        assert found["n_tokens"][0] == found["n_tokens"][1] == len(tokenizer.encode(documents[0][1]))
        assert found["n_altered"] == [0, 0]


@pytest.mark.filterwarnings("ignore:a character without a token becomes")
@pytest.mark.parametrize("kind", ["spaces", "words", "metaspace", "clip"])
def test_a_file_over_characters_equals_itself_in_its_library(tmp_path: Path, kind: str) -> None:
    from tests.formats import test_words as words

    rng = random.Random(kind)
    steps = [words.METASPACE] if kind == "metaspace" else words._STEPS.get(kind, [])
    file = words.clip_json(rng) if kind == "clip" else words.unknown_json(rng, steps, True)
    ours = words.load(tmp_path, file)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    texts = [(str(number), words.random_text(rng)) for number in range(40)]
    found = compare(side_of(ours, "ours"), side_of(theirs, "theirs"), texts)
    assert (found["ids"], found["cuts"]) == (None, None)
    if kind != "clip":  # whose text tokenizers decodes with </w>
        assert found["n_altered"][0] == found["n_altered"][1]


@pytest.mark.parametrize("n_before", range(3))
def test_a_long_pattern_of_other_alphabets_can_be_compared(n_before: int) -> None:
    # The library shows a step by its first hundred bytes, and panics where they end inside a character.
    tokenizer = Tokenizer.train([TEXT], 300, pattern="a" * n_before + "Ꭰ" * 50 + r"|\s+|\S+", decode_errors="replace")
    found = compare(side_of(tokenizer, "ours"), side_of(to_huggingface(tokenizer.model), "theirs"), [("1", TEXT)])
    assert (found["ids"], found["cuts"]) == (None, None)


def test_tokens_of_wordpiece_do_not_spell_the_text() -> None:
    import tokenizers

    model = tokenizers.models.WordPiece({"[UNK]": 0, "ab": 1, "##c": 2}, unk_token="[UNK]")
    theirs = tokenizers.Tokenizer(model)
    theirs.decoder = tokenizers.decoders.WordPiece()
    side = side_of(theirs, "theirs")
    found = compare(side_of(Tokenizer.train(["ab"], 257), "ours"), side, [("1", "abc")])
    assert (found["n_altered"], side.encode("abc").tolist(), side.token(2)) == ([0, 1], [1, 2], b"##c")


def test_compare_reports_a_side_that_changes_the_text() -> None:
    plain = Tokenizer.train(["ab AB"], 256)
    shortening, lower = to_huggingface(plain.model), to_huggingface(plain.model)
    shortening.normalizer = tokenizers.normalizers.Replace("A", "")
    lower.normalizer = tokenizers.normalizers.Lowercase()
    for changing in (shortening, lower, plain.with_normalizer("lowercase")):
        found = compare(side_of(changing, "changing"), side_of(plain, "plain"), [("1", "xAb"), ("2", "b")])
        assert (found["n_altered"], found["n_differing_ids"]) == ([1, 0], 1)
        assert found["ids"] is not None
        assert (found["ids"]["document"], found["ids"]["byte_offset"], found["ids"]["after"]) == ("1", 1, "Ab")


def shortened(side: Side) -> Side:
    """Encodes like the side, but without the last id of each text."""
    return replace(side, encode=lambda text: side.encode(text)[:-1])


@pytest.mark.parametrize("kind", ["prepend", "first", "always", "none"])
def test_a_space_that_decoding_drops_lies_nowhere(tmp_path: Path, kind: str) -> None:
    from tests.formats.test_sentencepiece import load, tokenizer_json

    rng = random.Random(kind)
    text = json.dumps(tokenizer_json(rng, kind))
    ours = load(tmp_path, text.encode(), "tokenizer.json")
    sides = side_of(ours, "ours"), side_of(tokenizers.Tokenizer.from_str(text), "theirs")
    assert [sides[0].token(i) for i in range(ours.n_vocab)] == [sides[1].token(i) for i in range(ours.n_vocab)]
    for document in ("".join(rng.choices("ab\u00e9\u00fc \n", k=9)) + "a" for _ in range(40)):
        ids, n_bytes = ours.encode(document), len(document.encode())
        for side in sides:
            found = compare(side, shortened(side), [("", document)])
            assert found["n_altered"] == [ours.decode(ids) != document, True]
            if not found["n_altered"][0]:
                assert found["ids"]["byte_offset"] == max(n_bytes - int(side.lengths[ids[-1]]), 0)


@pytest.fixture
def models(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Writes two different models and a text."""
    text = tmp_path / "text.txt"
    text.write_text("ab ab cd cd", encoding="utf-8")
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    Tokenizer.train(["ab ab ab"], 258).save(first)
    Tokenizer.train(["cd cd cd"], 258).save(second)
    return first, second, text


def test_the_report(models: tuple[Path, Path, Path]) -> None:
    first, second, text = models
    assert output("compare --model", first, "--model", second, "--input", text).splitlines() == [
        f"A  {first}",
        f"B  {second}",
        "1 documents, 11 bytes",
        "tokens           A 8  B 7  (-12.50%)",
        "bytes per token  A 1.3750  B 1.5714",
        "documents with different ids 1, with different boundaries 1",
        f"first different ids: {text}, byte 0",
        "  text  '' then 'ab ab cd cd'",
        "  A     >> 256:'ab' 257:' ab' 32:' ' 99:'c' 100:'d'",
        "  B     >> 97:'a' 98:'b' 32:' ' 97:'a' 98:'b'",
    ]
    same = output("compare --model", first, "--model", first, "--input", text, text)
    assert same.splitlines()[-1] == "the ids are the same" and "2 documents, 22 bytes" in same


def test_any_corpus_can_be_compared_on(models: tuple[Path, Path, Path], tmp_path: Path) -> None:
    first, second, _ = models
    both = ("compare", "--model", first, "--model", second)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.jsonl").write_text(json_lines(["xyz", "x", "", "cd"]))
    report = json.loads(output(*both, "--input", tmp_path / "folder", "--text-field", "meta.text", "--json"))
    assert (report["n_documents"], report["n_differing_ids"]) == (4, 1)
    assert report["ids"]["document"] == f"{tmp_path / 'folder' / 'a.jsonl'}, document 4"
    (tmp_path / "empty.txt").write_bytes(b"")
    empty = (*both, "--input", tmp_path / "empty.txt")
    assert "0 documents" in output(*empty) and "bytes per token  A -  B -" in output(*empty)
    assert json.loads(output(*empty, "--json"))["bytes_per_token"] == [None, None]


def test_the_libraries_by_name(models: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first, _, text = models
    tokenizer = Tokenizer.load(first)
    tokenizer.save(first.parent / "tokenizer.json", format="huggingface")
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "of_a_test", tokenizer.to_tiktoken())
    for other in ("tiktoken:of_a_test", f"hf:{first.parent / 'tokenizer.json'}", first):
        report = output("compare --input", text, "--model", f"hf:{first.parent}", "--model", other)
        assert report.splitlines()[-1] == "the ids are the same"
    libraries = ("--model", "tiktoken:of_a_test", "--model", "tiktoken:of_a_test")
    refused = run("compare --pattern gpt2 --input", text, *libraries)
    assert (refused.status, "--pattern does not apply" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("module", "model", "remedy"),
    [("tiktoken", "tiktoken:gpt2", "pip install tiktoken"), ("tokenizers", "hf:gpt2", "pip install tokenizers")],
)
def test_a_missing_library_is_named_with_what_installs_it(
    models: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, module: str, model: str, remedy: str
) -> None:
    first, _, text = models
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=module) as raised:
        load_side(model)
    assert remedy in str(raised.value)
    failed(run("compare --model", first, "--model", model, "--input", text), remedy)
