"""tokenize_files: special-token literals in texts, and the ids added around documents."""

from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, SpecialTokenError, Tokenizer, tokenize_files
from tests.corpus.files import DOCUMENTS, json_lines
from tests.shards.reading import documents_of, manifest_of

pytestmark = pytest.mark.filterwarnings("ignore:.* literals? of special tokens")
TEXTS = ["a <s> b", "plain", "<s><pad>c</s>", "", "ends with </s>", "</s"]
# The first special token starts documents, as in the vocabularies of DeepSeek and Llama 3.
TOKENIZER = Tokenizer.train(DOCUMENTS, 400, special_tokens=["<s>", "</s>", "<pad>"])


def run(texts: list[str], out: Path, *, tokenizer: Tokenizer = TOKENIZER, **options: Any) -> list[list[int]]:
    tokenize_files(tokenizer, Corpus.of_texts(texts), out, **options)
    return documents_of(out)


def test_literals_in_documents_are_plain_text_and_are_counted(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"5 literals of special tokens.*'<s>' 2.*specials=\"recognise\""):
        result = tokenize_files(TOKENIZER, Corpus.of_texts(TEXTS), tmp_path / "out")
    assert documents_of(tmp_path / "out") == [TOKENIZER.encode_ordinary(text) for text in TEXTS]
    assert result.special_literals == {"<s>": 2, "</s>": 2, "<pad>": 1}
    assert manifest_of(tmp_path / "out")["totals"]["special_literals"] == result.special_literals


@pytest.mark.parametrize("specials", ["ordinary", "recognise"])
def test_counts_and_ids_of_a_document_of_many_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, specials: str
) -> None:
    text = "some words <s> and more, 12 </s></s>\n" * 100 + "東京の<pad>" * 80
    (tmp_path / "a.jsonl").write_text(json_lines(["x <s>", "y"]))
    (tmp_path / "b.txt").write_text(text)
    encode = TOKENIZER.encode if specials == "recognise" else TOKENIZER.encode_ordinary
    for size in (5, 97, 10_000):
        monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", size)
        out = tmp_path / str(size)
        tokenize_files(TOKENIZER, [tmp_path / "a.jsonl", tmp_path / "b.txt"], out, specials=specials, shard_tokens=4)
        assert documents_of(out) == [encode("x <s>"), encode("y"), encode(text)]
        expected = {"<s>": 101, "</s>": 200, "<pad>": 80} if specials == "ordinary" else {}
        assert manifest_of(out)["totals"]["special_literals"] == expected
        if specials == "ordinary":
            assert [shard.get("special_literals", {}).get("<s>", 0) for shard in manifest_of(out)["shards"]] == [1, 100]


def test_a_refused_literal_in_a_long_document_names_its_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "some words and more, 12\n" * 400
    (tmp_path / "a.txt").write_text(f"first\0{text}é<pad>{text}")
    for size in (7, 999, 1 << 20):
        monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", size)
        with pytest.raises(SpecialTokenError, match=rf"a\.txt: document 1: .*<pad>.* byte {len(text) + 2};"):
            tokenize_files(TOKENIZER, tmp_path / "a.txt", tmp_path / "out", separator="\0", specials="error")


@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_named_tokens_begin_and_end_documents(tmp_path: Path, format: str) -> None:
    begin, end = TOKENIZER.special_tokens["<s>"], TOKENIZER.special_tokens["</s>"]
    found = run(TEXTS, tmp_path / "out", eot="</s>", bos="<s>", shard_tokens=5, format=format)
    assert found == [[begin, *TOKENIZER.encode_ordinary(text), end] for text in TEXTS]
    config = manifest_of(tmp_path / "out")["config"]
    assert (config["eot"], config["eot_id"], config["bos"], config["bos_id"]) == ("</s>", end, "<s>", begin)


def test_eot_without_a_name_needs_one_special_token(tmp_path: Path) -> None:
    for option in ("eot", "bos"):
        wrong: list[tuple[Any, type[Exception], str]] = [
            (True, ValueError, rf"{option} must be one of .* 3 special tokens: '<s>', '</s>', '<pad>'"),
            ("<eos>", ValueError, "'<s>', '</s>', '<pad>'; not '<eos>'"),
            (401, TypeError, option),
        ]
        for value, error, message in wrong:
            with pytest.raises(error, match=message):
                run(["a"], tmp_path / "out", **{option: value})
    many = Tokenizer.train("a", 256, special_tokens=[f"<{n}>" for n in range(300)])
    with pytest.raises(ValueError, match="and 280 more"):
        run(["a"], tmp_path / "out", tokenizer=many, eot=True)
    assert not (tmp_path / "out").exists()
    one = Tokenizer.train("a", 256)
    assert run(["a"], tmp_path / "one", tokenizer=one, eot=True) == [[97, 256]]
