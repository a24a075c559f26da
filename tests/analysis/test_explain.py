"""explain_difference names the cause of planted differences."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from pairloom import Corpus, Tokenizer, explain_difference
from pairloom.analysis.explain import Explanation
from pairloom.reference.naive import apply_merge, count_pairs
from pairloom.reference.pretokens import count_pretokens
from tests.cli.commands import failed, output, run

pytestmark = pytest.mark.filterwarnings("ignore:the corpus holds", "ignore:the vocabulary has")

EOT = "<|endoftext|>"


def prose(seed: int, between: str = "\n", n: int = 60) -> str:
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdeioustr", k=rng.randrange(2, 7))) for _ in range(40)]
    sentences = (" ".join(rng.choices(words, k=rng.randrange(3, 12))).capitalize() for _ in range(n))
    return "".join(f"{sentence}, {rng.randrange(2000)}.{between}" for sentence in sentences)


def trained(text: Any, profile: str = "bpetite", size: int = 400, **fields: Any) -> Tokenizer:
    return Tokenizer.train([text] if isinstance(text, str) else text, size, profile, **fields)


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def loaded_of_huggingface(tokenizer: Tokenizer, folder: Path) -> Tokenizer:
    """The tokenizer as loaded from another library's file, which does not store how it was trained."""
    path = folder / "tokenizer.json"
    Tokenizer.from_model(tokenizer.model.replaced(decode_errors="replace")).save(path, format="huggingface")
    return Tokenizer.load(path)


TEXT, SPACED, CUT = prose(1), prose(2, "\n\n"), prose(3, EOT, n=200)
WINDOWS = crlf(SPACED)
TWO = prose(4, "<a><a>b", n=200)
LINES = TEXT.splitlines(keepends=True)
# Form feeds end a line only for str.splitlines.
FEEDS = TEXT.replace(" ", "\f")
# It crosses line endings.
ACROSS = {"pattern": "[^,]+|,"}
CS336, HUGGINGFACE, TWO_SPECIALS = {"profile": "cs336"}, {"profile": "huggingface"}, {"special_tokens": ["<a>", "<b>"]}

WITH_BYTES = TEXT + "\n\t\x00é€" * 9
CR, LINES_SPACED = WINDOWS.replace("\r\n", "\r\n\r"), [line.rstrip("\n") + " " for line in LINES]

PLANTED: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "tie: greatest bytes": (TEXT, {}, {"tie_break": "bytes_greatest"}),
    "tie: GPT-2's order of bytes": (WITH_BYTES, {}, {"byte_order": "gpt2"}),
    "tie: first seen": (TEXT, {}, {"tie_break": "first_seen"}),
    "line ends: CRLF read as LF": (WINDOWS, {}, {"text": SPACED}),
    "line ends: CR read as LF": (CR, HUGGINGFACE, {**HUGGINGFACE, "text": WINDOWS.replace("\r\n", "\n\n")}),
    "line ends: LF read as CRLF": (SPACED, CS336, {**CS336, "text": WINDOWS}),
    "specials: not split by theirs": (CUT, {"corpus_specials": "split"}, {}),
    "specials: not split by mine": (CUT, CS336, {**CS336, "special_tokens": [EOT]}),
    "specials: another one split": (
        TWO,
        {**CS336, "special_tokens": ["<a>"]},
        {**CS336, "special_tokens": ["<a>", "<a>b"]},
    ),
    "pattern: cl100k": (TEXT, {}, {"pattern": "cl100k"}),
    "pattern: whole lines": (TEXT, {}, {"pattern": r"[^\n]+|\n+"}),
    "pattern: two in turn": (TEXT, {**CS336, "pattern": "o200k"}, {**CS336, "pattern": (r"\d", "gpt2")}),
    "max_token_bytes: of theirs": (TEXT, {}, {"max_token_bytes": 4}),
    "max_token_bytes: of mine": (TEXT, {"max_token_bytes": 4}, {}),
    "min_count: of theirs": (TEXT, {}, {"min_count": 9}),
    "min_count: of mine": (TEXT, {"min_count": 9}, {}),
    "documents: lines": (TEXT, ACROSS, {**ACROSS, "text": LINES}),
    "documents: lines with form feeds": (FEEDS, ACROSS, {**ACROSS, "text": re.findall(r".*\n", FEEDS)}),
    "documents: joined": (LINES_SPACED, {}, {"text": "".join(LINES_SPACED)}),
    "documents: lines without ends": (TEXT, ACROSS, {**ACROSS, "text": [line.strip() for line in LINES]}),
    "vocab_size: specials counted": (TEXT, TWO_SPECIALS, {**TWO_SPECIALS, "specials_counted": True}),
    "vocab_size: merges counted": (TEXT, {"size": 300}, {"size": 400}),
    "vocab_size: one merge more": (TEXT, {"size": 300}, {"size": 301}),
    "none: other ids": (TEXT, {}, {"special_ids": "first"}),
    "corpus: another one": (TEXT, {"text": prose(7)}, {}),
}
"""What is planted after the cause: the corpus, and what the training of either tokenizer has instead of `trained`'s."""


def planted(name: str) -> tuple[str, list[str], Tokenizer, Tokenizer]:
    corpus, *both = PLANTED[name]
    mine, theirs = (trained(**{"text": corpus, **options}) for options in both)
    return name.partition(":")[0], [corpus] if isinstance(corpus, str) else corpus, mine, theirs


def check_counts(found: Explanation, mine: Tokenizer, corpus: list[str]) -> None:
    """The counts equal those of counting all pairs after the earlier merges."""
    config = mine.config
    assert config is not None
    parts = corpus
    if config.corpus_specials == "split":
        for literal in sorted(config.special_tokens, key=len, reverse=True):
            parts = [piece for part in parts for piece in part.split(literal)]
    words: list[tuple[list[Any], int]] = [
        ([bytes([byte]) for byte in pretoken], count)
        for pretoken, count in count_pretokens(parts, config.pattern).items()
        if count >= config.min_count
    ]
    for pair in mine.merges[: found.rank]:
        words = [(apply_merge(word, pair, b"".join(pair)), count) for word, count in words]  # type: ignore[arg-type]
    pair_counts: Any = count_pairs(words)
    expected = [None if pair is None else pair_counts[pair] for pair in (found.mine, found.theirs)]
    assert list(found.counts) == expected


def test_merges_that_min_frequency_left_out_are_said_to_be_rarer() -> None:
    every, frequent = (trained(TEXT, size=2000, min_frequency=least) for least in (1, 3))
    for mine, theirs in ((every, frequent), (frequent, every)):
        found = explain_difference(mine, theirs, TEXT)
        assert found.cause == "vocab_size" and "or min_frequency=3 skipped the rarer pairs" in found.reason
    assert "min_frequency" not in explain_difference(every, trained(TEXT, size=len(every.vocab) - 1), TEXT).reason
    extended = trained(TEXT, size=300).extend(prose(7), n_tokens=50)
    for both in ((extended, trained(TEXT, size=300)), (trained(TEXT, size=300), extended)):
        assert explain_difference(*both, TEXT).cause == "corpus"


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_cause_is_named(name: str) -> None:
    cause, corpus, mine, theirs = planted(name)
    found = explain_difference(mine, theirs, corpus)
    assert found.cause == cause, found.reason
    if cause == "none":
        assert found.rank is None and "all 144 merges are the same; only ids differ" in str(found)
        return
    assert found.rank is not None and mine.merges[: found.rank] == theirs.merges[: found.rank]
    for pair, merges in ((found.mine, mine.merges), (found.theirs, theirs.merges)):
        assert pair == (merges[found.rank] if found.rank < len(merges) else None)
    assert "1 merges" not in found.reason
    if cause in ("corpus", "vocab_size"):
        return
    check_counts(found, mine, corpus)
    # The change reproduces all merges of the second tokenizer.
    assert found.n_explained == len(theirs.merges) > found.rank and "something else" not in found.reason
    if cause == "tie":
        assert found.counts[0] == found.counts[1]
    assert f"merge {found.rank} differs: " in str(found)
    assert json.loads(json.dumps(found.as_dict()))["mine"] == [list(part) for part in found.mine or ()]


def test_a_cause_that_explains_only_some_merges_says_so() -> None:
    fields: dict[str, Any] = {"special_tokens": [EOT], "corpus_specials": "split"}
    found = explain_difference(trained(CUT, **fields), trained(CUT, tie_break="bytes_greatest"), CUT)
    assert found.cause == "specials" and 0 < found.n_explained < 144
    assert found.reason.endswith("merges of the second one, so something else differs, too")


def test_a_file_without_corpus_specials_is_explained(tmp_path: Path) -> None:
    trained(CUT, corpus_specials="split").save(tmp_path / "model.json")
    mine = Tokenizer.load(tmp_path / "model.json")
    assert mine.config is not None and mine.config.corpus_specials == "text"
    found = explain_difference(mine, trained(CUT, corpus_specials="split", tie_break="bytes_greatest"), CUT)
    assert found.cause == "tie" and found.n_explained == len(mine.merges)


def test_tokenizers_of_other_files_are_explained(tmp_path: Path) -> None:
    """Without a training record, the profile that reproduces the merges is found."""
    mine = loaded_of_huggingface(trained(TEXT, "huggingface"), tmp_path)
    assert mine.config is None
    found = explain_difference(mine, trained(TEXT, "cs336"), TEXT)
    assert found.cause == "tie" and found.n_explained == len(mine.merges)


def test_corpora_of_every_form_are_explained(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, newline="")
    mine, theirs = trained(TEXT), trained(TEXT, tie_break="bytes_greatest")
    expected = explain_difference(mine, theirs, TEXT)
    for corpus in ([TEXT], iter([TEXT]), Corpus(tmp_path / "a.txt")):
        assert explain_difference(mine, theirs, corpus) == expected
    assert explain_difference(mine, mine, "").cause == "none"
    assert explain_difference(mine, theirs, "").cause == "corpus"
    for wrong in ((mine, theirs.model, TEXT), (mine, theirs, 5), (None, theirs, TEXT)):
        with pytest.raises(TypeError):
            explain_difference(*wrong)


def test_a_tie_by_no_known_rule_is_one() -> None:
    mine = trained("ab ef cd ab ef cd", size=257, special_tokens=[])
    theirs = Tokenizer({**{i: bytes([i]) for i in range(256)}, 256: b"ef"}, [(b"e", b"f")])
    found = explain_difference(mine, theirs, "ab ef cd ab ef cd")
    assert found.cause == "tie" and found.counts == (2, 2)
    other = Tokenizer({**{i: bytes([i]) for i in range(256)}, 256: b"xy"}, [(b"x", b"y")])
    found = explain_difference(mine, other, "ab ef cd ab ef cd")
    assert found.cause == "unknown" and found.counts == (2, 0)


def test_compare_merges_prints_the_explanation(tmp_path: Path) -> None:
    corpus = tmp_path / "a.txt"
    corpus.write_text(TEXT, newline="")
    paths = [tmp_path / "mine", tmp_path / "theirs"]
    mine, theirs = trained(TEXT), trained(TEXT, pattern="cl100k")
    mine.save(paths[0])
    theirs.save(paths[1])
    given: list[str | Path | int] = ["compare", "--merges", "--model", paths[0], "--model", paths[1], "--input", corpus]
    expected = explain_difference(mine, theirs, TEXT)
    assert output(*given) == f"cause: pattern\n{expected}\n"
    assert json.loads(output(*given, "--json")) == json.loads(json.dumps(expected.as_dict()))
    failed(run(*given[:3], "hf:none", *given[4:]), "hf:none")
    assert run(*given, "--plot", tmp_path / "a.svg").status == 2


def test_a_corpus_is_normalised_where_a_tokenizer_was_trained_so(tmp_path: Path) -> None:
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = tokenizers.decoders.ByteLevel()
    theirs.normalizer = tokenizers.normalizers.Lowercase()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    texts = [TEXT + " ".join(f"Ab{n} CD" for n in range(99))]
    theirs.train_from_iterator(texts, tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    lower = Tokenizer.from_huggingface(theirs)
    plain = loaded_of_huggingface(trained(texts, "huggingface", 301), tmp_path)
    found = explain_difference(lower, plain, texts)
    assert (found.cause, found.n_explained) == ("normalizer", len(plain.merges))
    assert "The normalizer: with texts as they are, training learns" in found.reason
    assert found.counts[0] is not None and found.counts[1] is not None
    back = explain_difference(plain, lower, texts)
    assert (back.cause, back.n_explained) == ("normalizer", len(lower.merges))
    assert "with texts after lowercase" in back.reason
    own = trained([text.lower() for text in texts], "huggingface", 301).with_normalizer("lowercase")
    assert explain_difference(own, plain, texts).cause == "normalizer"
