"""Parity-aware training: the cases, equality with the reference, and what it refuses."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, CountsError, PretokenCounts, Tokenizer, TrainingConfig
from pairloom.reference.parity import learn_parity_merges
from pairloom.reference.vocabulary import bytes_in_order
from tests.cases import REFUSED
from tests.cli.commands import failed, output, run
from tests.corpora import random_documents

Counts = dict[str, dict[bytes, int]]

CASES = json.loads((Path(__file__).parents[2] / "testdata" / "parity.json").read_text(encoding="utf-8"))["cases"]


def reference_merges(groups: Counts, references: Counts | None, n_merges: int, config: TrainingConfig) -> list[Any]:
    """Returns the merges of the reference, as bytes."""
    ids = {byte: index for index, byte in enumerate(bytes_in_order(config.byte_order))}
    vocab = {index: bytes([byte]) for byte, index in ids.items()}

    def words(counts: Counts) -> dict[str, Any]:
        return {
            name: [([ids[byte] for byte in pretoken], n) for pretoken, n in of_group.items()]
            for name, of_group in counts.items()
        }

    options: Any = {name: getattr(config, name) for name in ("tie_break", "min_frequency", "max_token_bytes")}
    measured = None if references is None else words(references)
    merges = learn_parity_merges(words(groups), measured, vocab, n_merges, 256, **options)
    return [(vocab[merge.left], vocab[merge.right]) for merge in merges]


def counts_of(groups: dict[str, dict[str, int]] | None) -> Counts | None:
    if groups is None:
        return None
    return {name: {pretoken.encode(): n for pretoken, n in counts.items()} for name, counts in groups.items()}


def trained(groups: Counts, references: Counts | None, n_merges: int, config: TrainingConfig) -> Tokenizer:
    """The engine on counts."""

    def named(counts: Counts) -> dict[str, PretokenCounts]:
        return {name: PretokenCounts.from_items(of_group.items(), config.pattern) for name, of_group in counts.items()}

    vocab_size = config.base_vocab_size + n_merges
    fields: Any = {name: getattr(config, name) for name in TrainingConfig.__dataclass_fields__}
    measured = None if references is None else named(references)
    return Tokenizer.train(None, vocab_size, parity=named(groups), parity_reference=measured, **fields)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@pytest.mark.filterwarnings("ignore:the vocabulary has")
def test_cases_of_parity_give_their_merges(case: dict[str, Any]) -> None:
    groups, references = counts_of(case["groups"]), counts_of(case.get("references"))
    assert groups is not None
    fields = {name: case[name] for name in ("tie_break", "min_frequency") if name in case}
    config = TrainingConfig(special_tokens=(), **fields)
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in case["merges"]:
        tokens.append(tokens[left] + tokens[right])
    expected = [(tokens[left], tokens[right]) for left, right in case["merges"]]
    assert reference_merges(groups, references, case["n_merges"], config) == expected
    assert trained(groups, references, case["n_merges"], config).merges == expected


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.filterwarnings("ignore:the vocabulary has", "ignore:the corpus holds")
def test_parity_equals_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    profile = rng.choice(["bpetite", "cs336", "huggingface"])
    config = TrainingConfig.from_profile(
        profile,
        special_tokens=["<s>"],
        min_frequency=rng.choice([1, 1, 1, 2, 4]),
        max_token_bytes=rng.choice([None, None, 3, 6]),
        corpus_specials="text",
    )

    def texts() -> Counts:
        return {
            name: dict(PretokenCounts.from_texts(random_documents(rng) * rng.choice([0, 1, 1, 3])).items())
            for name in names
        }

    names = ["en", "hi", "zh", "de"][: rng.randrange(1, 5)]
    groups, references = texts(), texts() if rng.random() < 0.4 else None
    n_merges = rng.randrange(1, 60)
    found = trained(groups, references, n_merges, config)
    assert found.merges == reference_merges(groups, references, n_merges, config)
    assert trained(groups, references, n_merges // 2, config).merges == found.merges[: n_merges // 2]


def test_parity_on_one_group_is_plain_training() -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefgh", k=rng.randrange(2, 9))) for _ in range(9000)]
    # So many words that the position lists must be rebuilt.
    text = " ".join(rng.choice(words) for _ in range(40_000))
    assert Tokenizer.train(None, 3000, parity={"en": [text]}) == Tokenizer.train(text, 3000)


LATIN = "the cat sat on the mat and the dog ran to the cat " * 40
GREEK = "η γάτα κάθισε στο χαλί και ο σκύλος έτρεξε προς τη γάτα και το χαλί " * 3


def test_parity_says_where_input_errors_belongs(tmp_path: Path) -> None:
    (tmp_path / "el.txt").write_bytes(b"\xff" + GREEK.encode())
    for option in ("parity", "parity_reference"):
        corpora: dict[str, Any] = {"parity": {"el": GREEK}, option: {"el": Corpus(tmp_path / "el.txt")}}
        with pytest.raises(ValueError, match="input_errors belongs to the Corpus"):
            Tokenizer.train(None, 300, input_errors="replace", **corpora)


def test_parity_takes_corpora_counts_and_every_option(tmp_path: Path) -> None:
    path = tmp_path / "el.txt"
    path.write_text(GREEK + "<s>" + GREEK, encoding="utf-8")
    fields: dict[str, Any] = {"special_tokens": ["<s>"], "corpus_specials": "split", "pattern": "cl100k"}
    cut: dict[str, Any] = {"special_tokens": ["<s>"], "corpus_specials": "split"}
    counts = PretokenCounts.from_texts([LATIN], "cl100k", **cut)
    found = Tokenizer.train(
        None, 300, parity={"en": counts, "el": Corpus(path)}, threads=1, max_memory=1 << 30, **fields
    )
    assert found == Tokenizer.train(None, 300, parity={"en": [LATIN], "el": [GREEK, GREEK]}, **fields)
    saved = tmp_path / "model.json"
    found.save(saved)
    assert Tokenizer.load(saved) == found
    assert found.truncate_vocab(280).merges == found.merges[:24]
    with pytest.raises(CountsError, match="pattern"):
        Tokenizer.train(None, 300, parity={"en": counts})


NO_JSON = [({"parity": {"en": Path("x")}}, TypeError), ({"parity": {"en": "ab"}, "trace": print}, ValueError)]


@pytest.mark.parametrize(("options", "error"), [*REFUSED["parity"], *NO_JSON])
def test_parity_refuses_what_it_cannot_do(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Tokenizer.train(**{"corpus": None, "vocab_size": 300, **options})


@pytest.mark.filterwarnings("ignore:pretokens that occur fewer than 3 times")
def test_parity_records_how_its_counts_were_pruned() -> None:
    counts = PretokenCounts.from_texts([LATIN, LATIN, LATIN]).pruned(3)
    config = Tokenizer.train(None, 260, parity={"en": counts, "el": [GREEK]}).config
    assert config is not None and config.min_count == 3


def test_the_command_line_trains_with_parity(tmp_path: Path) -> None:
    for name, text in (("en", LATIN), ("el", GREEK)):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    en, el, out = f"en={tmp_path / 'en.txt'}", f"el={tmp_path / 'el.txt'}", tmp_path / "fair.json"
    common = ("train --vocab-size 300 --output", out)
    report = output(*common, "--parity", en, "--parity", el)
    assert json.loads(report)["corpus_bytes"] == len(LATIN) + len(GREEK.encode())
    parity = {"en": [LATIN], "el": [GREEK]}
    assert Tokenizer.load(out) == Tokenizer.train(None, 300, parity=parity)
    references = ["--parity-reference", en, "--parity-reference", el, "--force"]
    output(*common, "--parity", en, "--parity", el, *references)
    assert Tokenizer.load(out) == Tokenizer.train(None, 300, parity=parity, parity_reference=parity)
    failed(run(*common, "--force", "--parity", en, "--parity-reference", el), "must have the same names")
