"""The trace of a training: equal to the reference, and training is the same without it."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer, TrainingConfig
from pairloom.reference import naive
from pairloom.training.trace import TrainingStep
from tests.cli.commands import run
from tests.corpora import random_documents


def expected_of(counts: PretokenCounts, vocab_size: int, config: TrainingConfig) -> list[TrainingStep]:
    trace: list[list[tuple[tuple[int, int], int]]] = []
    names = ("special_tokens", "special_ids", "byte_order", "specials_counted", "tie_break")
    options: Any = {name: getattr(config, name) for name in (*names, "min_frequency", "max_token_bytes")}
    model = naive.train_from_counts(dict(counts.items()), vocab_size, trace=trace, **options)
    token = model.vocab
    steps = []
    for rank, ((pair, count), *rest) in enumerate(trace):
        runners_up = [(token[left], token[right], times) for (left, right), times in rest]
        steps.append(TrainingStep(rank, (token[pair[0]], token[pair[1]]), count, runners_up))
    return steps


@pytest.mark.parametrize("profile", ["bpetite", "cs336", "huggingface"])
@pytest.mark.filterwarnings("ignore:the vocabulary has", "ignore:the corpus holds")
def test_the_trace_equals_the_reference(profile: str) -> None:
    for seed in range(25):
        rng = random.Random(seed)
        fields: dict[str, Any] = {"min_frequency": rng.choice([1, 1, 2, 5]), "special_tokens": ["<s>"]}
        if rng.random() < 0.3:
            fields["max_token_bytes"] = rng.randrange(2, 9)
        documents = random_documents(rng) * rng.randrange(1, 4)
        size = 257 + rng.randrange(1, 60)
        steps: list[TrainingStep] = []
        options: dict[str, Any] = {"threads": rng.choice([1, 2]), **fields}
        tokenizer = Tokenizer.train(documents, size, profile, trace=steps.append, **options)
        assert tokenizer == Tokenizer.train(documents, size, profile, **options)
        assert [step.pair for step in steps] == tokenizer.merges
        config = TrainingConfig.from_profile(profile, **fields)
        cut = {"special_tokens": ["<s>"], "corpus_specials": config.corpus_specials}
        counts = PretokenCounts.from_texts(documents, **cut)  # type: ignore[arg-type]
        assert steps == expected_of(counts, size, config)


def test_the_trace_of_a_large_corpus_keeps_the_merges() -> None:
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefgh", k=rng.randrange(2, 9))) for _ in range(9000)]
    text = " ".join(rng.choice(words) for _ in range(40_000))
    steps: list[TrainingStep] = []
    # So many words that rare pairs are skipped at first.
    traced = Tokenizer.train(text, 2000, trace=steps.append)
    assert traced == Tokenizer.train(text, 2000)
    assert [step.pair for step in steps] == traced.merges
    assert all(len(step.runners_up) == 4 for step in steps)
    for step, following in pairwise(steps):
        assert following.count <= step.count and step.runners_up[0][2] <= step.count


def test_ties_are_the_runners_up_of_equal_count() -> None:
    steps: list[TrainingStep] = []
    Tokenizer.train("ab ab cd cd ef", 257, trace=steps.append)
    # No text starts with "cd", so " c" is as frequent.
    assert steps == [TrainingStep(0, (b" ", b"c"), 2, [(b"a", b"b", 2), (b"c", b"d", 2), *steps[0].runners_up[2:]])]
    assert steps[0].ties == [(b"a", b"b"), (b"c", b"d")]


def test_every_road_of_training_traces(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("ab ab ab cab")
    found: list[list[TrainingStep]] = [[], [], [], []]
    Tokenizer.train("ab ab ab cab", 260, trace=found[0].append)
    Tokenizer.train_files(path, 260, trace=found[1].append)
    Tokenizer.train_files(path, 260, trace=found[2].append, checkpoint=tmp_path / "kept")
    Tokenizer.train_from_counts(PretokenCounts.from_files(path), 260, trace=found[3].append)
    assert found[0] == found[1] == found[2] == found[3] != []
    with pytest.raises(TypeError, match="trace must be a function"):
        Tokenizer.train("ab", 256, trace=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="trace cannot be combined with"):
        Tokenizer.train("ab", 256, trace=print, tie_break="first_seen")
    with pytest.raises(ZeroDivisionError):
        Tokenizer.train("ab ab", 257, trace=lambda step: step.rank / 0)


def test_train_writes_a_trace(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "trace"
    path.write_text("ab ab ab cab")
    given = ("train --vocab-size 258 --input", path, "--trace", out, "--output")
    done = run(*given, tmp_path / "model")
    assert done.status == 0 and "a trace of 2 merges" in done.err, done.err
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert lines[1] == {
        "rank": 1,
        "pair": ["Ġ", "ab"],
        "count": 2,
        "ties": 0,
        "runners_up": [["Ġ", "c", 1], ["c", "ab", 1]],
    }
    assert run(*given, tmp_path / "other").status == 1 and not (tmp_path / "other").exists()
