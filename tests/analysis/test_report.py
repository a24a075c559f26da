"""The report on named corpora: figures by their definitions, on any number of tokenizers."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pairloom import Corpus, Tokenizer
from pairloom.analysis.report import report, report_text
from pairloom.analysis.stats import renyi_efficiency
from pairloom.reference import fairness
from tests.cli.commands import failed, output, run

TEXTS = {
    "en": "the cat sat on the mat and the cat ate the rat",
    "de": "die Katze saß auf der Matte und die Katze fraß die Ratte",
    "ru": "кошка сидела на коврике и кошка съела крысу",
}


def write(folder: Path) -> dict[str, Path]:
    paths = {name: folder / f"{name}.txt" for name in TEXTS}
    for name, path in paths.items():
        path.write_text(TEXTS[name], encoding="utf-8")
    return paths


def tokenizers() -> dict[str, Tokenizer]:
    english = Tokenizer.train([TEXTS["en"]] * 3, 290)
    tokens = [bytes([i]) for i in range(256)] + [b"<|pad|>", "н".encode() + b"\xd0", b"xyz", b"xy"]
    odd = Tokenizer.from_ranks({token: i for i, token in enumerate(tokens)}, "gpt2", {"<e>": 300})
    return {"english": english, "all": Tokenizer.train(list(TEXTS.values()), 300), "odd": odd}


@pytest.mark.parametrize("parallel", [False, True])
def test_figures_of_the_report_are_those_of_the_definitions(tmp_path: Path, parallel: bool) -> None:
    paths, named = write(tmp_path), tokenizers()
    found = report(named, {name: Corpus(path) for name, path in paths.items()}, parallel=parallel)
    assert [each.name for each in found] == list(named)
    for each in found:
        tokenizer = named[each.name]
        ids = {name: tokenizer.encode(text) for name, text in TEXTS.items()}
        costs = {name: len(ids[name]) / (1 if parallel else len(TEXTS[name].encode())) for name in TEXTS}
        assert each.costs == costs
        assert each.premiums == fairness.premiums(costs) and min(each.premiums.values()) == 1
        assert each.gini == pytest.approx(fairness.gini(costs), abs=1e-12)
        used = Counter(i for of_text in ids.values() for i in of_text)
        assert each.renyi_efficiency == pytest.approx(renyi_efficiency(list(used.values()), len(tokenizer.vocab)))
        ordinary = tokenizer.model.tokens()
        assert each.unused == [i for i in ordinary if i not in used]
        assert each.n_vocab_tokens == len(tokenizer.vocab)
    odd = found[2]
    assert odd.partial == odd.unreachable == [257]
    # The pattern splits the first one; the others are only unused.
    assert odd.glitch == [256, 257] and {258, 259} <= set(odd.unused)
    assert found[0].gini > found[1].gini
    assert found[0].glitch == [] and found[0].unreachable == []


def test_empty_corpora_have_no_ratios(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    paths = write(tmp_path)
    tokenizer = tokenizers()["all"]
    (found,) = report({"a": tokenizer}, {"none": tmp_path / "empty.txt", "en": paths["en"]})
    assert found.premiums == {"en": 1.0} and found.gini == 0
    assert " none " in report_text(found, tokenizer) and "-" in report_text(found, tokenizer)
    (found,) = report({"a": tokenizer}, {"none": tmp_path / "empty.txt"})
    assert math.isnan(found.gini) and found.as_dict()["gini"] is None
    json.dumps(found.as_dict(), allow_nan=False)


def test_wrong_arguments_of_the_report(tmp_path: Path) -> None:
    paths, tokenizer = write(tmp_path), tokenizers()["all"]
    wrong: list[tuple[Any, Any, type[Exception], str]] = [
        ({}, paths, ValueError, "tokenizers is empty"),
        ({"a": tokenizer}, {}, ValueError, "corpora is empty"),
        ([tokenizer], paths, TypeError, "tokenizers must be a dict"),
        ({"a": tokenizer}, list(paths.values()), TypeError, "corpora must be a dict"),
        ({"a": 5}, paths, TypeError, "must be a Tokenizer"),
        ({"a": tokenizer}, {"en": tmp_path / "none"}, OSError, "none"),
    ]
    for given, corpora, error, message in wrong:
        with pytest.raises(error, match=message):
            report(given, corpora)


def test_commands_print_the_report(tmp_path: Path) -> None:
    paths, named = write(tmp_path), tokenizers()
    models = {}
    for name, tokenizer in named.items():
        models[name] = str(tmp_path / name)
        tokenizer.save(models[name])
    corpora = [word for name, path in paths.items() for word in ("--corpus", f"{name}={path}")]
    expected = report({models[name]: named[name] for name in named}, paths)
    several = [word for path in models.values() for word in ("--model", path)]
    shown = output("compare", *several, *corpora)
    assert shown == "\n".join(report_text(each, named[Path(each.name).name]) for each in expected)
    assert "premium" in shown and "likely glitch tokens" in shown and "256:'<|pad|>'" in shown
    found = json.loads(output("compare --json --parallel", *several, *corpora))
    assert [each["name"] for each in found] == list(models.values())
    assert found[2]["glitch"] == expected[2].glitch
    assert found[0]["corpora"]["ru"]["cost"] == len(named["english"].encode(TEXTS["ru"]))
    assert output("stats --model", models["all"], *corpora) == report_text(expected[1], named["all"])
    # Several files under one name are one corpus.
    both = [word for name in ("en", "de") for word in ("--corpus", f"a={paths[name]}")]
    found = json.loads(output("stats --json --model", models["all"], *both))
    assert found[0]["corpora"]["a"]["documents"] == 2


def test_special_tokens_of_named_corpora_follow_the_option(tmp_path: Path) -> None:
    model, corpus = tmp_path / "model", tmp_path / "a.txt"
    Tokenizer.train("ab ab", 258).save(model)
    corpus.write_text("ab<|endoftext|>")
    for specials, n_tokens in (("recognise", 2), ("ordinary", 14)):
        given = ("stats --json --specials", specials, "--model", model)
        named, plain = (
            json.loads(output(*given, *corpus_of)) for corpus_of in (("--corpus", f"a={corpus}"), ("--input", corpus))
        )
        assert named[0]["corpora"]["a"]["tokens"] == plain["tokens"] == n_tokens


def test_a_corpus_that_can_be_read_only_once_is_no_empty_one(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train("ab ab", 258)
    several = {"a": tokenizer, "b": tokenizer}
    for name in several:
        tokenizer.save(tmp_path / name)
    texts = Corpus.of_texts(text for text in ["ab ab"])
    with pytest.raises(ValueError, match="an iterator, which was read already; pass a list"):
        report(several, {"en": texts})
    first, second = report(several, {"en": Corpus.of_texts(["ab ab"])})
    assert first.costs == second.costs
    done = run("compare --corpus en=- --model", tmp_path / "a", "--model", tmp_path / "b", stdin=b"ab ab")
    failed(done, "corpus 'en': standard input and pipes can be read only once")
