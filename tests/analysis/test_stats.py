"""Statistics and the training curve against plain counting; streaming against encoding at once; `pairloom stats`."""

import base64
import json
import math
import random
from collections import Counter
from pathlib import Path

import pytest
import regex

from pairloom import Corpus, Tokenizer
from pairloom.analysis import stats
from pairloom.analysis.curve import training_curve
from pairloom.analysis.stats import CorpusStats, corpus_stats, renyi_efficiency
from pairloom.model import Model
from tests.cli.commands import failed, output, run
from tests.corpora import random_documents
from tests.corpus.files import DOCUMENTS, json_lines


def check(found: CorpusStats, tokenizer: Tokenizer, documents: list[str]) -> None:
    """Every figure, counted the plain way."""
    ids = Counter(i for text in documents for i in tokenizer.encode(text))
    data = [text.encode() for text in documents]
    vocab = tokenizer.vocab
    assert found.n_documents == len(documents)
    assert found.n_bytes == sum(map(len, data))
    assert found.n_words == sum(len(regex.findall(r"\P{White_Space}+", text)) for text in documents)
    assert found.n_tokens == ids.total()
    assert {i: n for i, n in enumerate(found.token_counts.tolist()) if n} == ids
    assert found.token_bytes.tolist() == [len(vocab.get(i, b"")) for i in range(tokenizer.n_vocab)]
    assert found.unused.tolist() == [i for i in vocab if i not in ids]
    if ids:
        assert found.bytes_per_token == found.n_bytes / ids.total()
        assert found.single_byte_share == sum(n for i, n in ids.items() if len(vocab[i]) == 1) / ids.total()
        share = [n / ids.total() for n in ids.values()]
        entropy = math.log(sum(p**2.5 for p in share)) / -1.5
        assert found.renyi_efficiency == pytest.approx(entropy / math.log(len(vocab)), abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_figures_are_those_of_plain_counting(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    documents = random_documents(rng)
    # Some ids stand for nothing.
    tokenizer = Tokenizer.train(documents, 270).add_special_tokens({"<e>": 300})
    documents.append("ab<|endoftext|> cd" * rng.randrange(3))
    check(corpus_stats(tokenizer, Corpus.of_texts(iter(documents))), tokenizer, documents)
    in_files = [text for text in documents if text]
    # An empty file of plain text is no document.
    paths = [tmp_path / str(n) for n in range(len(in_files) + 1)]
    for path, text in zip(paths, [*in_files, ""], strict=True):
        path.write_bytes(text.encode())
    check(corpus_stats(tokenizer, Corpus(paths)), tokenizer, in_files)
    # Blocks so small that they split words and characters.
    monkeypatch.setattr("pairloom.corpus.corpus.PIECE_BYTES", rng.randrange(1, 8))
    monkeypatch.setattr(stats, "_CHUNK_IDS", rng.randrange(1, 8))
    check(corpus_stats(tokenizer, Corpus(paths), threads=1), tokenizer, in_files)


def test_an_empty_corpus_has_no_ratios(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    found = corpus_stats(Tokenizer.train([""], 256), Corpus(tmp_path / "empty"))
    assert (found.n_documents, found.n_tokens, found.n_words) == (0, 0, 0)
    assert math.isnan(found.bytes_per_token)
    assert math.isnan(renyi_efficiency([1], 1)) and renyi_efficiency([7, 0], 2) == 0
    figures = found.as_dict()
    assert figures["bytes_per_token"] is figures["tokens_per_word"] is figures["renyi_efficiency"] is None
    # An empty record is a document, as everywhere.
    (tmp_path / "empty.jsonl").write_text('{"text": ""}\n')
    assert corpus_stats(Tokenizer.train([""], 256), Corpus(tmp_path / "empty.jsonl")).n_documents == 1


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("ab ab cd<|endoftext|>", encoding="utf-8")
    return tmp_path / "text.txt"


def test_figures_as_a_table_and_as_json(model: Path, text: Path) -> None:
    lines = output("stats --model", model, "--input", text, text).splitlines()
    assert lines[:-2] == [
        "documents            2",
        "bytes                42",
        "words                6 between white space",
        "tokens               12",
        "bytes per token      3.5000",
        "tokens per word      2.0000",
        "single-byte tokens   50.00%",
        "unused tokens        253 of 259 (97.68%)",
    ]
    assert lines[-2].startswith("Renyi efficiency     0.") and lines[-2].endswith("at alpha 2.5")
    assert lines[-1].startswith("throughput ")
    report = json.loads(output("stats --json --model", model, "--input", text, text))
    assert report.pop("seconds") > 0 and report.pop("bytes_per_second") > 0
    assert report.pop("renyi_efficiency") == pytest.approx(math.log(6) / math.log(259))
    counts = {"documents": 2, "bytes": 42, "words": 6, "skipped": 0, "tokens": 12, "vocabulary": 259}
    ratios = {"bytes_per_token": 3.5, "tokens_per_word": 2.0, "single_byte_share": 0.5}
    assert report == {**counts, **ratios, "unused_tokens": 253}


def test_records_that_are_skipped_are_counted(model: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.jsonl").write_text(json_lines(DOCUMENTS) + "broken\n")
    in_folder = ("stats --text-field meta.text --model", model, "--input", tmp_path / "folder")
    failed(run(*in_folder), "a.jsonl: line 65")
    done = run(*in_folder, "--json", "--skip-bad")
    report = json.loads(done.out)
    assert (report["documents"], report["skipped"]) == (len(DOCUMENTS), 1)
    assert "warning: 1 records" in done.err
    assert output(*in_folder, "--skip-bad").splitlines()[-1] == "records skipped      1"


@pytest.mark.parametrize(("suffix", "head"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
@pytest.mark.long
def test_plots_are_files_of_their_suffix_and_the_same_again(
    model: Path, text: Path, tmp_path: Path, suffix: str, head: bytes
) -> None:
    pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    plot = tmp_path / f"plot{suffix}"
    command = ("stats", "--model", model, "--input", text, "--plot", plot)
    assert run(*command).status == 0
    drawn = plot.read_bytes()
    assert drawn.startswith(head)
    failed(run(*command), plot.name)
    assert run(*command, "--force").status == 0 and plot.read_bytes() == drawn
    # matplotlib writes each text as a comment next to its outlines.
    for title in ("token lengths", "token frequencies", "compression by vocabulary size", "training curve"):
        assert suffix != ".svg" or f"<!-- {title} -->" in drawn.decode()


def test_ranks_have_no_truncations_to_plot(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    ranks, plot = tmp_path / "a.tiktoken", tmp_path / "plot.svg"
    Tokenizer.train(["ab ab"], 258).save(ranks, format="tiktoken")
    with ranks.open("ab") as file:
        # A token that no merge makes.
        file.write(base64.b64encode(b"xyz") + b" 300\n")
    done = run("stats --pattern gpt2 --model", ranks, "--input", text, "--plot", plot)
    assert done.status == 0
    assert "ranks" in done.err
    assert "no plots of vocabulary size and training" in done.err
    assert plot.exists()


TEXTS = [(Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8"), "aaaaaaa aaa é 東京 <|endoftext|>x"]


def test_tokens_after_each_merge_equal_those_of_the_truncated() -> None:
    tokenizer = Tokenizer.train(TEXTS[:1], 420, corpus_specials="split")
    for texts in (TEXTS, TEXTS[1:], []):
        curve = training_curve(tokenizer, corpus_stats(tokenizer, Corpus.of_texts(texts)))
        assert len(curve.times) + 1 == len(curve.n_tokens) == len(tokenizer.model.merges) + 1
        for n_merges in (0, 1, 17, 80, 163):
            smaller = tokenizer.truncate_vocab(256 + n_merges, specials_counted=False)
            assert curve.n_tokens[n_merges] == sum(map(smaller.count_tokens, texts))
        assert (-(curve.n_tokens[1:] - curve.n_tokens[:-1]) == curve.times).all()


def _model(merges: list[tuple[int, int, int]], **fields: object) -> Tokenizer:
    tokens = {97: b"a", 98: b"b", 99: b"c", 200: b"bc", 201: b"abc", 202: b"ab"}
    tokens |= {byte: bytes([byte]) for byte in range(97)}
    return Tokenizer.from_model(Model.from_tokens(tokens, merges, pattern="gpt2", **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tokenizer", "named"),
    [
        (_model([], rule="ranks", ignore_merges=True), "pairs"),
        (_model([(98, 99, 200)], ignore_merges=True), "pairs"),
        (_model([(98, 99, 200), (97, 98, 202), (202, 99, 201), (97, 200, 201)]), "several"),
        (_model([(97, 200, 201), (98, 99, 200)]), "before"),
    ],
)
def test_merges_that_were_not_learned_in_order_have_no_curve(tokenizer: Tokenizer, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        training_curve(tokenizer, corpus_stats(tokenizer, Corpus.of_texts(["abc"])))
