"""tiktoken's file, rank lists, tekken.json, and the library tiktoken itself."""

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest
import tiktoken as library

from pairloom import Tokenizer, formats
from pairloom.errors import FormatError
from pairloom.formats import ranks, tiktoken
from pairloom.model import Model
from pairloom.patterns import GPT2

from .models import trained

MODEL = trained([(97, 98), (32, 256), (99, 100), (257, 258)], decode_errors="replace")


def test_lines_whose_words_merge_by_later_ranks_are_exact() -> None:
    tokens = {bytes((byte,)): byte for byte in range(256)} | {b"abc": 256, b" y": 257, b"x y": 258, b"ab": 259}
    pattern = r"[^\n]+|\n+"
    theirs = library.Encoding("x", pat_str=pattern, mergeable_ranks=tokens, special_tokens={})
    text = "x y" * 5 + " abc"
    assert Tokenizer.from_ranks(tokens, pattern, {}).encode(text) == theirs.encode(text)


def test_ranks_that_merging_cannot_reach_stay_ranks() -> None:
    tokens = {bytes((byte,)): byte for byte in range(256)} | {b"abc": 256}
    model = formats.tiktoken.from_ranks(tokens, GPT2, None)
    assert (model.rule, model.ignore_merges) == ("ranks", True)
    assert ranks.write(model) == tokens
    reachable = formats.tiktoken.from_ranks({**tokens, b"bc": 257}, GPT2, None)
    assert (reachable.rule, reachable.ignore_merges) == ("pairs", False)
    assert reachable.merges.tolist() == [[97, 257, 256], [98, 99, 257]]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # The order of the merges differs from the order of their ids.
        (Model.from_tokens({0: b"a", 1: b"b", 2: b"ab", 3: b"ba"}, [(1, 0, 3), (0, 1, 2)], pattern="a"), "ascending"),
        # A pair that ranks would merge but the model does not: "ab" + "a" by ranks, "a" + "ba" by its merges.
        (
            Model.from_tokens({0: b"a", 1: b"b", 2: b"ab", 3: b"ba", 4: b"aba"}, [(0, 1, 2), (0, 3, 4)], pattern="a"),
            "by which the ids alone",
        ),
        # A token that no merge makes: by ranks, a pretoken with its bytes would become it.
        (Model.from_tokens({0: b"a", 1: b"b", 2: b"c", 3: b"abc"}, [], pattern="a"), "id 3"),
    ],
)
def test_what_ranks_cannot_express_is_refused(model: Model, expected: str) -> None:
    with pytest.raises(FormatError, match=expected):
        tiktoken.write(model)


def random_ranks(rng: random.Random) -> dict[bytes, int]:
    """A vocabulary over three letters; its ranks are mostly, but not always, possible results of training."""
    tokens = [b"a", b"b", b"c"]
    for _ in range(rng.randrange(12)):
        token = rng.choice(tokens) + rng.choice(tokens)
        if rng.random() < 0.1:
            token = bytes(rng.choice(b"abc") for _ in range(rng.randrange(2, 5)))
        if token not in tokens:
            tokens.append(token)
    if rng.random() < 0.3:
        rng.shuffle(tokens)
    return {token: rank for rank, token in enumerate(tokens)}


@pytest.mark.long
def test_random_ranks_encode_as_tiktoken_in_every_format(tmp_path: Path) -> None:
    rng = random.Random(5)
    for _ in range(150):
        found = random_ranks(rng)
        owner = library.Encoding("test", pat_str=r"\S+|\s+", mergeable_ranks=found, special_tokens={})
        model = tiktoken.from_tiktoken(owner)
        ways = [model, tiktoken.from_tiktoken(tiktoken.to_tiktoken(model))]
        ways.append(formats.read("tiktoken", tiktoken.write(model), pattern=r"\S+|\s+"))
        assert ways[0] == ways[1] == ways[2]
        ours = Tokenizer.from_model(model)
        for _ in range(30):
            text = "".join(rng.choice("abc") for _ in range(rng.randrange(1, 16)))
            assert ours.encode(text) == owner.encode(text), (found, text)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"pattern": "[a-z]+"}, "drops what the pattern does not match"),
        ({"pattern": r"(?=a)a|\p{L}+|\s"}, "drops what the pattern does not match"),
        ({"pattern": r"a\Kb|[\s\S]"}, "loses text"),
        ({"pattern": r"(?=a)|[\s\S]"}, "can match nothing"),
        ({"pattern": r"(?<n>b?)\k<n>|[\s\S]"}, "can match nothing"),
        ({"pattern": "(?#merged_with_next)[0-9]"}, "says what to do with matches"),
        ({"pattern": GPT2, "special_tokens": {"<a>": 256, "<a>b": 257}}, "at random"),
    ],
    ids=str,
)
def test_what_tiktoken_encodes_otherwise_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(FormatError, match=why):
        tiktoken.to_tiktoken(trained([], **settings))
    # The stand-in does not have these limits.
    tokenizer = Tokenizer.from_model(trained([], decode_errors="replace", **settings))
    assert tokenizer.as_tiktoken().encode("ab <a>b", allowed_special="all") == tokenizer.encode("ab <a>b")


@pytest.mark.parametrize("pattern", ["a+b?a+(?!c)", "(?:[ab]+a|[ab]+c)", "(?:b|(?:(?:a+?)+)*c)(?!d)"])
def test_a_pattern_that_tiktoken_simplifies_is_refused(pattern: str) -> None:
    pattern += r"|[\s\S]"
    found = {bytes((byte,)): byte for byte in range(256)}
    for refused in (
        Tokenizer.from_ranks(found, pattern).to_tiktoken,
        lambda: Tokenizer.from_tiktoken(
            library.Encoding("a", pat_str=pattern, mergeable_ranks=found, special_tokens={})
        ),
        lambda: formats.read("tekken", json.dumps(tekken_file(pattern=pattern)).encode()),
    ):
        with pytest.raises(FormatError, match="tiktoken's regex engine simplifies the pattern"):
            refused()


def test_text_that_tiktoken_leaves_out_is_kept_with_a_warning() -> None:
    ranks_of_bytes = {bytes((byte,)): byte for byte in range(256)}
    encoding = library.Encoding("mine", pat_str="[a-z]+", mergeable_ranks=ranks_of_bytes, special_tokens={})
    with pytest.warns(UserWarning, match="tiktoken drops"):
        found = Tokenizer.from_tiktoken(encoding)
    assert (encoding.encode("a b"), found.encode("a b")) == ([97, 98], [97, 32, 98])


@pytest.mark.parametrize("as_file", [True, False])
@pytest.mark.parametrize(
    ("special_tokens", "expected"),
    [
        (None, {}),
        (["<s>"], {"<s>": 258}),
        ({"<s>": 5000}, {"<s>": 5000}),
        # A byte, and what merging makes, stay tokens; any other entry becomes only a special token.
        (["a", "th", "<m>"], {"a": 97, "th": 256, "<m>": 257}),
        ({"th": 5000}, {"th": 5000}),
        ({"<s>": 3}, "id 3, which belongs to a token with other bytes"),
    ],
)
def test_special_tokens_of_ranks(special_tokens: Any, expected: Any, as_file: bool) -> None:
    found = {bytes((byte,)): byte for byte in range(256)} | {b"th": 256, b"<m>": 257}
    lines = b"".join(b"%s %d\r\n" % (base64.b64encode(token), rank) for token, rank in reversed(found.items()))

    def read() -> Model:
        if as_file:
            return formats.read("tiktoken", lines, pattern="gpt2", special_tokens=special_tokens)
        return tiktoken.from_ranks(found, "gpt2", special_tokens)

    if isinstance(expected, str):
        with pytest.raises(FormatError, match=expected):
            read()
        return
    model = read()
    assert model.special_tokens == expected
    kept = found.keys() - ({b"<m>"} if "<m>" in expected else set())
    assert set(model.tokens().values()) == kept and model.ignore_merges == (b"<m>" in kept)


def tekken_file(**config: Any) -> dict[str, Any]:
    coded = [base64.b64encode(bytes((byte,))).decode() for byte in range(256)]
    vocab = [{"rank": byte, "token_bytes": token, "token_str": None} for byte, token in enumerate(coded)]
    vocab += [{"rank": 256, "token_bytes": "YWI=", "token_str": "ab"}, {"rank": 257, "token_bytes": "YWJj"}]
    base = {"pattern": r"\S+|\s+", "default_vocab_size": 267, "default_num_special_tokens": 10, "version": "v3"}
    return {"config": {**base, **config}, "vocab": vocab}


def test_tekken_ids_come_after_its_special_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken_file()))
    model = formats.load(tmp_path)
    assert model == formats.load(tmp_path, format="tekken")
    assert model.tokens()[10 + 256] == b"ab"
    assert 10 + 257 not in model.tokens()
    assert model.special_tokens["</s>"] == 2
    assert len(model.special_tokens) == 10
    file = tekken_file()
    file["special_tokens"] = [{"rank": 1, "token_str": "<s>", "is_control": True}]
    for text in (json.dumps(file), json.dumps(file, sort_keys=True), json.dumps(dict(reversed(file.items())))):
        path.write_text(text)
        assert formats.load(path).special_tokens == {f"<SPECIAL_{i}>": i for i in range(10) if i != 1} | {"<s>": 1}


def test_a_tekken_file_that_is_written_gives_the_same_model(tmp_path: Path) -> None:
    (tmp_path / "tekken.json").write_text(json.dumps(tekken_file()))
    model = formats.load(tmp_path / "tekken.json")
    formats.save(model, tmp_path / "again.json", format="tekken")
    assert formats.load(tmp_path / "again.json", format="tekken") == formats.load(tmp_path / "again.json") == model
    written = json.loads((tmp_path / "again.json").read_bytes())
    assert written["vocab"][97] == {"rank": 97, "token_bytes": "YQ==", "token_str": "a"}
    assert written["vocab"][200]["token_str"] is None
    assert written["special_tokens"][2] == {"rank": 2, "token_str": "</s>", "is_control": True}
    formats.save(formats.load(tmp_path / "again.json"), tmp_path / "third.json", format="tekken")
    assert (tmp_path / "third.json").read_bytes() == (tmp_path / "again.json").read_bytes()


def test_a_model_whose_ids_are_not_tekkens_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="special tokens at the first ids"):
        formats.save(MODEL, tmp_path / "tekken.json", format="tekken")
    with pytest.raises(FormatError, match='format="tekken" for that'):
        formats.save(MODEL, tmp_path / "tekken.json")
    assert not list(tmp_path.iterdir())


def test_ranks_far_apart_are_merged_in_order() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {300: b"ab", 301: b"bc", 2**23: b"abc"}
    tokenizer = Tokenizer.from_model(Model.from_tokens(tokens, rule="ranks", pattern="gpt2"))
    assert tokenizer.encode("abc-abcd bcd") == [2**23, 45, 2**23, 100, 32, 301, 100]
