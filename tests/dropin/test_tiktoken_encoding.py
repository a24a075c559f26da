"""The stand-in for tiktoken.Encoding against the library: results, types and errors of every public method."""

import inspect
import pickle
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tiktoken

from pairloom import Tokenizer
from pairloom.dropin.tiktoken_encoding import Encoding
from tests.corpora import random_documents
from tests.dropin.test_huggingface_tokenizer import TEXTS as OTHER_TEXTS

SPECIALS = ["<|endoftext|>", "<|fim|>"]
# Also lone surrogates, and pairs of them, which are one character.
TEXTS = [*OTHER_TEXTS, "a<|endoftext|>b <|fim|><|fim|> ", "<|endoftext|>", "x" * 50, "\ud83d\ude00 and \ud800 alone"]


@pytest.fixture(scope="module", params=["gpt2", "cl100k"])
def pair(request: pytest.FixtureRequest) -> tuple[Encoding, Any]:
    corpus = [text for seed in range(20) for text in random_documents(random.Random(seed))]
    corpus += ["hello world  naïve 東京 😀 hello\n\n  the end \n of"] * 3
    tokenizer = Tokenizer.train(
        corpus, 340, pattern=request.param, special_tokens=SPECIALS, decode_errors="replace", special_ids="last"
    )
    return tokenizer.as_tiktoken("mine"), tokenizer.to_tiktoken("mine")


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Returns the result and its type, or the built-in class of the error."""
    try:
        found = call()
    except Exception as error:
        kinds = (KeyError, LookupError, UnicodeError, ValueError, TypeError, OverflowError, AssertionError)
        return ("error", next(kind for kind in kinds if isinstance(error, kind)))
    if isinstance(found, np.ndarray):
        return ("array", found.dtype, found.tolist())
    return (type(found), found)


def compared(pair: tuple[Encoding, Any], method: str, *arguments: Any, **options: Any) -> None:
    ours, theirs = (outcome(partial(getattr(each, method), *arguments, **options)) for each in pair)
    assert ours == theirs, (method, arguments, options)


# Unusual arguments: ids out of range, arrays, empty ones, texts and sets of other types.
ODD_IDS = [-1, 5000, 1 << 31, 1 << 32, (1 << 32) + 97, 1 << 64, "a", None, 1.0, np.int64(97), np.uint32(98)]
ODD_TEXTS = [*OTHER_TEXTS, np.str_("hi there"), "<|fim|", "\x00\r\n", "\udc00\ud800x", None, 3, b"hello"]
ODD_CHOICES = ["all", set(), {"<|fim|>"}, {"<|endoftext|>"}, frozenset(SPECIALS), {"<|none|>"}, {"hello"}]


def random_call(rng: random.Random, n_vocab: int) -> tuple[str, list[Any], dict[str, Any]]:
    """Returns a method, its arguments and its options."""
    threads = {"num_threads": rng.choice([None, 0, 1, 2, -3])} if rng.random() < 0.3 else {}
    ids: Any = [rng.randrange(n_vocab) for _ in range(rng.randrange(12))]
    if rng.random() < 0.3:
        ids = rng.choice([np.array(ids), tuple(ids), [*ids, rng.choice(ODD_IDS)], np.array(ids, dtype=np.uint16)])
    options: dict[str, Any] = {"allowed_special": rng.choice(ODD_CHOICES)} if rng.random() < 0.7 else {}
    if rng.random() < 0.6:
        options["disallowed_special"] = rng.choice([*ODD_CHOICES, None, (), ["a", "<|fim|>"]])
    errors = {"errors": rng.choice(["strict", "ignore", "backslashreplace", "none"])} if rng.random() < 0.3 else {}
    texts = [text for text in rng.choices(ODD_TEXTS, k=3) if isinstance(text, str)]
    # tiktoken's batches do not take None.
    batch = {name: value for name, value in options.items() if value is not None}
    calls: list[tuple[str, list[Any], dict[str, Any]]] = [
        ("encode", [rng.choice(ODD_TEXTS)], options),
        ("encode_to_numpy", [rng.choice(texts or [""])], options),
        ("encode_batch", [texts], {**batch, **threads}),
        ("encode_ordinary_batch", [texts], threads),
        ("encode_single_token", [rng.choice(["a", b"\xff", "zzzz", b"", "\ud800", "<|fim|>", None, 3])], {}),
        ("decode", [ids], errors),
        ("decode_bytes", [ids], {}),
        ("decode_tokens_bytes", [ids], {}),
        ("decode_with_offsets", [ids], {}),
        ("decode_batch", [[ids, ids]], {**errors, **threads}),
        ("decode_bytes_batch", [[ids, ids]], threads),
        ("decode_single_token_bytes", [rng.choice([*ODD_IDS, 97])], {}),
    ]
    return rng.choice(calls)


def test_random_calls_give_the_same_result_or_error(pair: tuple[Encoding, Any]) -> None:
    rng = random.Random(7)
    for _ in range(4000):
        method, arguments, options = random_call(rng, pair[1].n_vocab)
        compared(pair, method, *arguments, **options)


def test_what_it_is(pair: tuple[Encoding, Any]) -> None:
    ours, theirs = pair
    for name in ("name", "max_token_value", "n_vocab", "eot_token", "special_tokens_set", "_special_tokens"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours._mergeable_ranks == theirs._mergeable_ranks and ours._pat_str == theirs._pat_str
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert repr(ours) == repr(theirs)
    for token_id in [*range(theirs.n_vocab + 2), "a"]:
        compared(pair, "decode_single_token_bytes", token_id)
        compared(pair, "is_special_token", token_id)
    for token in [*ours.token_byte_values(), *SPECIALS]:
        compared(pair, "encode_single_token", token)
    again = pickle.loads(pickle.dumps(ours))
    assert again.name == "mine" and again.encode("hello") == ours.encode("hello")


def test_every_public_method_is_there_with_the_same_arguments() -> None:
    for name, theirs in vars(tiktoken.Encoding).items():
        if name.startswith("_") or name == "encode_with_unstable":
            continue
        ours = inspect.getattr_static(Encoding, name, None)
        assert ours is not None or name == "special_tokens_set", name
        if inspect.isfunction(theirs):
            assert inspect.isfunction(ours)
            arguments = [
                {each.name: each.kind for each in inspect.signature(call).parameters.values()}
                for call in (ours, theirs)
            ]
            assert arguments[0] == arguments[1], name


def test_a_tokenizer_without_ranks_encodes_and_names_the_lack() -> None:
    tokenizer = Tokenizer({**{i: bytes([i]) for i in range(256)}, 256: b"bc", 257: b"ab"}, [(b"a", b"b"), (b"b", b"c")])
    encoding = tokenizer.as_tiktoken()
    assert encoding.encode("abc") == tokenizer.encode("abc")
    with pytest.raises(ValueError, match="ranks cannot express"):
        encoding.token_byte_values()
    with pytest.raises(KeyError):
        _ = encoding.eot_token
