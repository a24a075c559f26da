"""Corpora of many files: small ones are encoded together, and the manifest lists each one's result."""

from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, PretokenCounts, SpecialTokenError, Tokenizer, tokenize_files
from tests.corpus.files import DOCUMENTS, SEPARATOR, json_lines, write_all
from tests.shards.reading import documents_of, manifest_of

TOKENIZER = Tokenizer.train(DOCUMENTS, 500)


def write_small(folder: Path, n: int) -> list[Path]:
    """Files with one or two documents, some of them empty."""
    for number in range(n):
        lines = json_lines([f"{number} {text}" for text in DOCUMENTS[: number % 3]]) if number % 7 else "\n"
        (folder / f"{number:04}.jsonl").write_text(lines)
    return sorted(folder.iterdir())


def test_small_files_are_read_some_megabytes_at_a_time(tmp_path: Path) -> None:
    paths = write_small(tmp_path, 500)
    whole = list(Corpus(paths))
    blocks = list(Corpus(paths).read(joined=True))
    assert len(blocks) == 1 and blocks[0].documents.texts() == whole
    assert len(list(Corpus(paths).read())) > 200
    assert PretokenCounts.from_texts(Corpus(paths)) == PretokenCounts.from_texts(whole)


@pytest.mark.parametrize("piece", [60, 1 << 22])
def test_documents_and_tokens_of_each_input_are_in_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", piece)
    for folder in ("many", "kinds"):
        (tmp_path / folder).mkdir()
    inputs = [*write_small(tmp_path / "many", 60), *write_all(tmp_path / "kinds").values()]
    limits: tuple[dict[str, Any], ...] = ({}, {"max_bytes": 40_000, "doc_cap": 100})
    for shard_tokens, some in zip((150, 1 << 30), limits, strict=True):
        out = tmp_path / str(shard_tokens)
        options = {"separator": SEPARATOR, **some}
        tokenize_files(TOKENIZER, Corpus(inputs, **options), out, shard_tokens=shard_tokens, eot=True)
        manifest, ids = manifest_of(out), iter(documents_of(out))
        for path, entry in zip(inputs, manifest["inputs"], strict=True):
            documents = [next(ids) for _ in range(entry["documents"])]
            assert sum(map(len, documents)) == entry["tokens"]
            if "max_bytes" not in options:
                expected = [TOKENIZER.encode(text) for text in Corpus(path, separator=SEPARATOR)]
                assert [document[:-1] for document in documents] == expected
        assert next(ids, None) is None
        for shard in manifest["shards"]:
            assert sum(documents for _, documents, _ in shard["inputs"]) == shard["documents"]
            assert sum(tokens for _, _, tokens in shard["inputs"]) == shard["tokens"]


def test_a_literal_in_many_files_is_named_with_its_document(tmp_path: Path) -> None:
    paths = write_small(tmp_path, 40)
    paths[25].write_text(json_lines(["good", "a <|endoftext|>"]))
    with pytest.raises(SpecialTokenError, match=r"0025\.jsonl: document 1"):
        tokenize_files(TOKENIZER, paths, tmp_path / "out", specials="error")
