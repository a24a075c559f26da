"""SentencePiece's BPE in .model, tokenizer.json and GGUF files, against the definition and the original libraries."""

import json
import random
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

from pairloom import Tokenizer, formats
from pairloom.errors import FormatError
from pairloom.patterns import pattern_text
from pairloom.reference.characters import CharacterModel, decode_runs, encode_characters, normalize_characters
from pairloom.reference.special_rules import split_by_rules
from tests.cases import INPUTS
from tests.encoding_calls import check_encoding_calls, streamed

SYMBOL = "\u2581"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
FAMILIES = Path(__file__).parents[3] / "shared/families"
needs_families = pytest.mark.skipif(not FAMILIES.is_dir(), reason=f"{FAMILIES} is not there")
Piece = tuple[str, float, int]

_FIRST: list[Piece] = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
_BYTES: list[Piece] = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
_ALPHABET = "ab\u00e9\u4e1c" + SYMBOL
SINGLE: list[Piece] = [*_FIRST, *_BYTES, *((each, -9.0, NORMAL) for each in _ALPHABET)]


def message(*fields: tuple[int, int | float | bytes]) -> bytes:
    """Encodes a Protocol Buffers message: an int as a varint, a float as 32 bits, bytes with their length."""

    def number(value: int) -> bytes:
        digits = bytearray()
        while value > 0x7F:
            digits.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes((*digits, value))

    def field(key: int, value: int | float | bytes) -> bytes:
        if isinstance(value, bytes):
            return number(key << 3 | 2) + number(len(value)) + value
        return (
            number(key << 3 | 5) + struct.pack("<f", value)
            if isinstance(value, float)
            else number(key << 3) + number(value)
        )

    return b"".join(field(*each) for each in fields)


def model_file(
    pieces: list[Piece], *, trainer: dict[int, int] | None = None, normalizer: dict[int, int] | None = None
) -> bytes:
    """Returns a .model file of type BPE, with byte fallback if it has byte pieces; it puts a space before texts."""
    rows = [(1, message((1, text.encode()), (2, score), (3, kind))) for text, score, kind in pieces]
    spec = {3: 2, 35: int(any(kind == BYTE for _, _, kind in pieces)), **(trainer or {})}
    rules = {3: 1, 4: 0, 5: 1, **(normalizer or {})}
    return message(*rows, (2, message(*spec.items())), (3, message(*rules.items())))


def random_pieces(rng: random.Random) -> list[Piece]:
    """Random pieces over five characters, with scores in any order and some equal."""
    texts = set(_ALPHABET)
    for _ in range(rng.randrange(4, 40)):
        texts.add(rng.choice(sorted(texts)) + rng.choice(sorted(texts)))
    texts = {text for text in texts if len(text) < 12}
    normal: list[Piece] = [(text, float(-rng.randrange(12)), NORMAL) for text in sorted(texts)]
    rng.shuffle(normal)
    return [*_FIRST, *_BYTES, *normal]


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(_ALPHABET + " \u00fcx\n", k=rng.randrange(rng.choice((10, 200)))))


def reference_of(pieces: list[Piece]) -> CharacterModel:
    ids = {
        text.replace(SYMBOL, " "): number
        for number, (text, _, kind) in enumerate(pieces)
        if kind in (NORMAL, USER_DEFINED)
    }
    scores = sorted({score for _, score, kind in pieces if kind == NORMAL}, reverse=True)
    return CharacterModel(
        ids,
        {int(text[3:5], 16): number for number, (text, _, kind) in enumerate(pieces) if kind == BYTE},
        priorities={number: scores.index(score) for number, (_, score, kind) in enumerate(pieces) if kind == NORMAL},
        whole=frozenset(text.replace(SYMBOL, " ") for text, _, kind in pieces if kind == USER_DEFINED),
        unknown=None if any(kind == BYTE for _, _, kind in pieces) else 0,
    )


def load(folder: Path, data: bytes, name: str = "tokenizer.model") -> Tokenizer:
    path = folder / name
    path.write_bytes(data)
    return Tokenizer.load(path)


def test_settings_can_stand_before_the_pieces(tmp_path: Path) -> None:
    data = model_file(random_pieces(random.Random(3)))
    n_pieces = len(data) - len(model_file([], trainer={35: 1}))
    moved = data[n_pieces:] + data[:n_pieces]
    assert load(tmp_path, moved) == load(tmp_path, data)
    with pytest.raises(FormatError, match="cannot be detected"):
        load(tmp_path, moved[:20])


def test_units_of_random_pieces_equal_the_whole_text(tmp_path: Path) -> None:
    rng = random.Random(5)
    for _ in range(40):
        pieces = random_pieces(rng)
        if rng.random() < 0.5:
            pieces += [("ba", 0.0, USER_DEFINED), ("a\u4e1ca", 0.0, USER_DEFINED)]
            pieces = list({piece[0]: piece for piece in pieces}.values())
        if rng.random() < 0.4:
            pieces = [piece for piece in pieces if piece[2] != BYTE]
        has_prefix, collapses = rng.choice([(1, 0), (1, 0), (0, 0), (1, 1), (0, 1)])
        tokenizer = load(tmp_path, model_file(pieces, normalizer={3: has_prefix, 4: collapses}))
        steps, model = (
            ["collapse_spaces"] * collapses + ["spaces"] + ["dummy_prefix"] * has_prefix,
            reference_of(pieces),
        )
        texts = [random_text(rng) for _ in range(50)]
        texts += [
            "".join(rng.choices(f"a {SYMBOL}\u00e9", weights=(2, 5, 1, 1), k=rng.randrange(12))) for _ in range(50)
        ]
        expected = [encode_characters(normalize_characters(text, steps), model) for text in texts]
        assert tokenizer.encode_batch(texts) == expected
        assert [tokenizer.encode(text) for text in texts] == expected
        assert [tokenizer.count_tokens(text) for text in texts] == [len(ids) for ids in expected]
        streamed = [list(tokenizer.encode_iterable([text[:7], text[7:]])) for text in texts]
        assert streamed == expected


def test_decoding_drops_the_prefix_and_replaces_bytes_one_by_one(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, model_file(SINGLE))
    for text in ("", " a", "a b", "\u00fc\U0001f642 \u4e1c", "  "):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert streamed(tokenizer, ids) == text
    assert tokenizer.decode([3 + 0xE2, 3 + 0x96, 259]) == "\ufffd\ufffda"
    assert tokenizer.decode([3 + 0xE2, 3 + 0x96], errors="replace") == "\ufffd"
    spans = tokenizer.encode_with_offsets("a b")[1]
    assert spans.tolist() == [[0, 0], [0, 1], [1, 2], [2, 3]]
    tokens = {each: token for each, token in tokenizer.vocab.items() if not token.startswith(b"<0x")}
    assert {each: tokenizer.id_to_token(each) for each in tokens} == tokens and tokens[263] == b" "


def test_without_byte_fallback_unknown_characters_are_one_id(tmp_path: Path) -> None:
    pieces: list[Piece] = [*_FIRST, *((each, -9.0, NORMAL) for each in (SYMBOL, "a", "b"))]
    with pytest.warns(UserWarning, match="a character without a token becomes id 0"):
        tokenizer = load(tmp_path, model_file(pieces))
    assert tokenizer.encode("axyzb\U0001f642a") == [3, 4, 0, 5, 0, 4]
    assert not tokenizer.is_lossless
    with pytest.raises(ValueError, match="changes the text"):
        tokenizer.encode_with_offsets("axb")
    # A long text is divided among threads, and a session appends to it: never within unknown characters.
    text = "xyz" * 200_000 + "ab" + "\u4e1c" * 100_000
    assert tokenizer.encode(text, threads=2) == tokenizer.encode(text) == [3, 0, 4, 5, 0]
    session = tokenizer.session()
    for part in ("ax", "yz", "", "\u4e1c", "b"):
        session.append(part)
    assert list(session.ids) == tokenizer.encode("axyz\u4e1cb") == [3, 4, 0, 5]
    tokenizer.save(tmp_path / "native.json")
    assert Tokenizer.load(tmp_path / "native.json").model == tokenizer.model
    with pytest.raises(FormatError, match="leftmost pair of those with equal scores"):
        tokenizer.save(tmp_path / "tokenizer.json", format="huggingface")


def test_a_model_without_a_token_for_the_space_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no token \u2581"):
        load(tmp_path, model_file([*_FIRST, *_BYTES, ("a", -1.0, NORMAL)]))


@pytest.mark.parametrize(("ab", "bc", "second"), [(-1.0, -0.0, "bc"), (-0.0, 0.0, "bc"), (0.0, -0.0, "ab")])
def test_a_score_of_zero_comes_before_minus_zero(ab: float, bc: float, second: str, tmp_path: Path) -> None:
    # As sentencepiece 0.2.3 does.
    scores = {"ab": ab, "bc": bc, "ba": 0.0, "c": -9.0}
    pieces = [*SINGLE, *((text, score, NORMAL) for text, score in scores.items())]
    ids = load(tmp_path, model_file(pieces)).encode("abc")
    assert second in [pieces[token_id][0] for token_id in ids]


def test_a_model_that_rewrites_decoded_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="denormalization rules"):
        load(tmp_path, model_file(SINGLE) + message((5, message((2, b"table")))))


def test_what_needs_bytes_says_so(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, model_file(SINGLE))
    with pytest.raises(ValueError, match="merges characters"):
        tokenizer.extend(["ab"], n_tokens=1)
    for change in (tokenizer.prune, tokenizer.adapt):
        with pytest.raises(ValueError, match="prune: not supported for a tokenizer that merges characters"):
            change(["ab"], n_tokens=1)
    with pytest.raises(ValueError, match="merges characters"):
        tokenizer.encode("ab", dropout=0.5, seed=1)
    for format in ("tiktoken", "gpt2", "tekken"):
        with pytest.raises(FormatError, match="merges characters; save as 'pairloom'"):
            tokenizer.save(tmp_path / "new", format=format)


# tokenizer.json


def tokenizer_json(rng: random.Random, kind: str) -> dict[str, Any]:
    """A tokenizer.json of random merges like Llama 2 ("prepend"), Mistral ("first", "always") or Gemma ("none").

    "first split", "always split" and "never split" have a Metaspace that splits at spaces.
    """
    tokens = [*(f"<0x{byte:02X}>" for byte in range(256)), *_ALPHABET]
    merges = []
    for _ in range(rng.randrange(3, 40)):
        left, right = rng.choice(tokens[256:]), rng.choice(tokens[256:])
        if len(left + right) < 12 and [left, right] not in merges:
            merges.append([left, right])
            tokens += [left + right] * (left + right not in tokens)
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": SYMBOL}
    normalizers: dict[str, Any] = {
        "prepend": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SYMBOL}, replace]},
        "none": replace,
    }
    splits: dict[str, Any] = {
        "prepend": None,
        "none": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
    }
    scheme, _, is_split = kind.partition(" ")
    metaspace = {"type": "Metaspace", "replacement": SYMBOL, "prepend_scheme": scheme, "split": bool(is_split)}
    undo: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": SYMBOL}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] * (kind not in ("none", "never split"))
    vocab = {token: number for number, token in enumerate(["</s>", *tokens])}
    added = [{"id": 0, "content": "</s>", "special": True, "normalized": False}]
    flags = ("single_word", "lstrip", "rstrip")
    return {
        "version": "1.0",
        "added_tokens": [{**each, **dict.fromkeys(flags, False)} for each in added],
        "normalizer": normalizers.get(kind),
        "pre_tokenizer": splits.get(kind, metaspace),
        "decoder": {"type": "Sequence", "decoders": [*undo, *strip]},
        "model": {
            "type": "BPE",
            "unk_token": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": vocab,
            "merges": merges,
        },
    }


def test_an_added_token_that_takes_a_pieces_id_is_refused(tmp_path: Path) -> None:
    file = tokenizer_json(random.Random(1), "none")
    vocab, added = file["model"]["vocab"], file["added_tokens"]
    vocab["far"] = len(vocab) + 1
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    theirs.add_tokens(["<new>"])
    assert theirs.encode("<new>").ids == [vocab["far"]]
    added.append({**added[0], "content": "<new>", "id": vocab["far"]})
    with pytest.raises(FormatError, match="and so has a token of the vocabulary"):
        Tokenizer.from_huggingface(theirs)
    with pytest.raises(FormatError, match="and so has a token of the vocabulary"):
        load(tmp_path, json.dumps(file).encode(), "tokenizer.json")


def test_merges_that_spell_a_byte_token_are_the_librarys(tmp_path: Path) -> None:
    file = tokenizer_json(random.Random(1), "none")
    vocab, merges = file["model"]["vocab"], file["model"]["merges"]
    for left, right in [*pairwise("<0x41>"), ("<0", "x4"), ("<0x4", "1>")]:
        merges.append([left, right])
        for token in (left, right, left + right):
            vocab.setdefault(token, len(vocab))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    ours = load(tmp_path, json.dumps(file).encode(), "tokenizer.json")
    for text in ("<0x41>", "a<0x41>b A", "<0x4 1>"):
        assert ours.encode(text) == theirs.encode(text).ids
    merges.append(["a", "<0xE4>"])
    vocab["a<0xE4>"] = len(vocab)
    with pytest.raises(FormatError, match="stands for characters without a token"):
        load(tmp_path, json.dumps(file).encode(), "tokenizer.json")


KINDS = ["prepend", "first", "always", "none", "first split", "always split", "never split"]


def add_user_defined(rng: random.Random, file: dict[str, Any]) -> None:
    """Adds up to two pieces, which merges use and make, to the added tokens, as in Gemma's files."""
    vocab, first = file["model"]["vocab"], file["added_tokens"][0]
    made = [token for token, number in vocab.items() if number > 256 and token.replace(SYMBOL, "").isascii()]
    for token in rng.sample(made, rng.randrange(3)):
        file["added_tokens"].append({**first, "id": vocab[token], "content": token, "special": False})


@pytest.mark.parametrize("kind", KINDS)
def test_tokenizer_json_with_byte_fallback_equals_tokenizers(tmp_path: Path, kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(15):
        file = tokenizer_json(rng, kind)
        if not kind.endswith("split"):
            add_user_defined(rng, file)
            if rng.random() < 0.4:
                more = {"id": len(file["model"]["vocab"]), "content": rng.choice(["  ", "\u65e5"])}
                file["added_tokens"].append({**file["added_tokens"][0], **more, "single_word": rng.random() < 0.5})
        if kind == "none" and rng.random() < 0.3:
            # Then tokens such as <0x0A> are not those of bytes.
            file["model"].update(byte_fallback=False, unk_token="</s>", fuse_unk=rng.random() < 0.5)
        theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
        if kind.startswith(("first", "always")) and rng.random() < 0.5:
            # As on a Llama tokenizer of transformers 5: they are normalized by default.
            theirs.add_tokens(["<x>", "b a"])
        ours = load(tmp_path, theirs.to_str().encode(), "tokenizer.json")
        for _ in range(60):
            between = rng.choice(("", "</s>", "</s> b", "<x>", "b a", "  a", "\u65e5", "a\u65e5\u65e5"))
            given = rng.choice(("", random_text(rng))) + between + random_text(rng)
            ids = theirs.encode(given, add_special_tokens=False).ids
            assert ours.encode(given) == ids, given
            assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), given
        ours.save(tmp_path / "again.json", format="huggingface", overwrite=True)
        again = Tokenizer.load(tmp_path / "again.json")
        assert again.encode(given) == ids and again.model == ours.model


def test_runs_of_bytes_decode_as_the_reference_and_tokenizers(tmp_path: Path) -> None:
    rng = random.Random(3)
    for kind in ("none", "prepend", "first", "always"):
        file = tokenizer_json(rng, kind)
        add_user_defined(rng, file)
        text = json.dumps(file)
        ours, theirs = load(tmp_path, text.encode(), "tokenizer.json"), tokenizers.Tokenizer.from_str(text)
        lists = [[rng.randrange(1, 257 if rng.random() < 0.7 else ours.n_vocab) for _ in range(9)] for _ in range(300)]
        lists += [[], [1 + 0x20, 1 + 0xC3, 1 + 0xA9], [1 + 0xE6, 1 + 0x9D], [1 + 0x41, 1 + 0xFF, 0, 1 + 0xC3, 1 + 0xA9]]
        expected = [theirs.decode(ids, skip_special_tokens=False) for ids in lists]
        assert [ours.decode(ids) for ids in lists] == ours.decode_batch(lists) == expected
        assert ours.as_huggingface().decode_batch(lists, skip_special_tokens=False) == expected
        assert [ours.decode(np.array(ids, np.uint16)) for ids in lists] == expected
        # A byte is an int; any other token is its text.
        tokens = [each - 1 if 0 < each < 257 else ours.id_to_token(each).decode() for each in range(ours.n_vocab)]
        runs = [decode_runs([tokens[each] for each in ids]) for ids in lists]
        assert [run.removeprefix(" " if kind != "none" else "") for run in runs] == expected
        assert ours.decode([1 + 0xE6, 1 + 0x9D, 1 + 0x41], errors="replace") == "\ufffdA"


def test_spaces_that_decoding_drops_lie_nowhere(tmp_path: Path) -> None:
    space, a = len(SINGLE) - 1, len(SINGLE) - 5
    collapsing = load(tmp_path, model_file(SINGLE, normalizer={4: 1}))
    assert collapsing.decode_with_offsets([space, space, a, a]) == ("aa", [0, 0, 0, 1])
    for tokenizer in (collapsing, load(tmp_path, model_file(SINGLE))):
        assert tokenizer.decode_with_offsets([space]) == ("", [0])


@pytest.mark.parametrize("kind", ["prepend", "none"])
def test_normalized_tokens_are_found_after_a_space(tmp_path: Path, kind: str) -> None:
    # The result of add_tokens(["foo", "b"]) on Llama 2, where the token found is "\u2581foo", or on Gemma.
    file = tokenizer_json(random.Random(kind), kind)
    file["added_tokens"][0]["normalized"] = True
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    theirs.add_tokens(["foo", "b", "日", "fo", tokenizers.AddedToken("<x>", normalized=False)])
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = Tokenizer.load(tmp_path)
    assert ("after_space" in str(ours.special_rules)) == (kind == "prepend")
    for text in ("a foo", " foo b a", "日 日</s>", "<x>", "foo\n fo"):
        found, wanted = ours.as_huggingface().encode(text), theirs.encode(text)
        assert (found.word_ids, found.offsets) == (wanted.word_ids, wanted.offsets)
    rng = random.Random(kind)
    pool = ["foo", "fo", " ", "  ", "a", "b", "日", "é", SYMBOL, "</s>", "<x>", "\n"]
    texts = ["", *("".join(rng.choices(pool, k=rng.randrange(1, 9))) for _ in range(300))]
    ordinary = Tokenizer.from_model(ours.model.replaced(special_rules=(), special_tokens={}, plain_specials=()))
    check_encoding_calls(ours, texts, lambda text: theirs.encode(text).ids, ordinary.encode, tmp_path)
    for text in texts:
        ids = theirs.encode(text).ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), text
        cut = [literal for _, literal in split_by_rules(text, ours.special_tokens, ours.model.special_rules)]
        added = {i: each for each, i in ours.special_tokens.items() if each.encode() not in ordinary.vocab.values()}
        assert [literal for literal in cut if literal in added.values()] == [added[i] for i in ids if i in added]
    ours.save(tmp_path / "saved.json", format="huggingface")
    ours.save(tmp_path / "own.json")
    assert Tokenizer.load(tmp_path / "saved.json") == Tokenizer.load(tmp_path / "own.json") == ours
    for literal in ("b a", SYMBOL + "b"):
        theirs.add_tokens([literal])
        theirs.save(str(tmp_path / "tokenizer.json"))
        with pytest.raises(FormatError, match="has normalized=true"):
            Tokenizer.load(tmp_path)
    if kind == "prepend":
        with pytest.raises(ValueError, match="'after_space' needs"):
            ours.with_normalizer("spaces")


def test_spaces_at_the_beginning_go_where_extra_ones_do(tmp_path: Path) -> None:
    pieces: list[Piece] = [*SINGLE, (SYMBOL + "a", -1.0, NORMAL)]
    space, prefixed = len(pieces) - 2, len(pieces) - 1
    for has_prefix in (0, 1):
        tokenizer = load(tmp_path, model_file(pieces, normalizer={3: has_prefix, 4: 1}))
        for ids, text in (
            ([space, space, prefixed, prefixed], "a a"),
            ([prefixed], "a"),
            ([space], ""),
            ([68, space], "A "),
        ):
            assert tokenizer.decode(ids) == text
            assert streamed(tokenizer, ids) == text
    assert load(tmp_path, model_file(pieces)).decode([space, prefixed]) == " a"


def test_decode_in_turns_drops_one_prefix_only(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, model_file(SINGLE))
    ids = np.full((1 << 25) + 1, tokenizer.n_vocab - 1, np.uint16)
    assert len(tokenizer.decode(ids)) == 1 << 25


# GGUF


def gguf_file(**metadata: Any) -> bytes:
    """A GGUF file with these values under tokenizer.ggml, the model's name, and a key of no tokenizer."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def value(item: Any) -> tuple[int, bytes]:
        if isinstance(item, bool):
            return 7, struct.pack("<?", item)
        if isinstance(item, str):
            return 8, text(item)
        if isinstance(item, int):
            return 5, struct.pack("<i", item)
        if isinstance(item, float):
            return 6, struct.pack("<f", item)
        parts = [value(each) for each in item]
        return 9, struct.pack("<IQ", parts[0][0] if parts else 8, len(parts)) + b"".join(data for _, data in parts)

    about = {"general.seed": 1.5, "general.name": metadata.pop("name", "")}
    rows = {**about, **{f"tokenizer.ggml.{key}": item for key, item in metadata.items()}}
    body = b"".join(
        text(key) + struct.pack("<I", kind) + data for key, (kind, data) in ((k, value(v)) for k, v in rows.items())
    )
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(rows)) + body


def test_gguf_of_pieces_equals_the_model_file(tmp_path: Path) -> None:
    rng = random.Random(9)
    ours, theirs = gguf_of_pieces(tmp_path), load(tmp_path, model_file(random_pieces(rng)))
    for text in (random_text(rng) for _ in range(100)):
        assert ours.encode(text) == theirs.encode(text)
    assert ours.encode("a</s>")[-1] == 2  # llama.cpp finds special tokens


def gguf_of_pieces(tmp_path: Path, *added: Piece, **metadata: Any) -> Tokenizer:
    """Returns a GGUF file with a tokenizer of random and added pieces."""
    texts, scores, kinds = (list(column) for column in zip(*random_pieces(random.Random(9)), *added, strict=True))
    file = gguf_file(model="llama", tokens=texts, scores=scores, token_type=kinds, **metadata)
    return load(tmp_path, file, "x.gguf")


def test_gguf_tokens_that_were_added_part_a_text(tmp_path: Path) -> None:
    # As in llama.cpp: the next text gets a prefix again, like the text after a control token.
    ours = gguf_of_pieces(tmp_path, ("<x>", -1000.0, USER_DEFINED))
    x = ours.special_tokens["<x>"]
    assert ours.encode("a<x>b") == [*ours.encode("a"), x, *ours.encode("b")]
    assert ours.decode([x], skip_special_tokens=True) == "<x>"


def test_gguf_of_a_padded_vocabulary_loads(tmp_path: Path) -> None:
    padding: list[Piece] = [(f"[PAD{i}]", -10000.0, UNUSED) for i in range(3)]
    plain = gguf_of_pieces(tmp_path)
    characters: list[Piece] = [(each, -9.0, NORMAL) for each in "[PAD012]"]
    ours = gguf_of_pieces(tmp_path, *characters, *padding)
    assert ours.n_vocab == plain.n_vocab + 11
    assert ours.encode("ab ba[PAD1]")[-6:] == [plain.n_vocab + "[PAD012]".index(each) for each in "[PAD1]"]


@pytest.mark.parametrize("name", ["Phi-3 mini", "phi3"])
def test_gguf_of_phi_3_takes_white_space_along(name: str, tmp_path: Path) -> None:
    ours = gguf_of_pieces(tmp_path, ("<|end|>", 0.0, CONTROL), ("<|endoftext|>", 0.0, CONTROL), name=name)
    end, text_end = ours.special_tokens["<|end|>"], ours.special_tokens["<|endoftext|>"]
    assert ours.encode("<|end|>\n a") == [end, *ours.encode("a")]
    assert ours.encode("<|endoftext|> a") == [text_end, *ours.encode(" a")]


@pytest.mark.parametrize(("flags", "first", "last"), INPUTS["gguf"])
def test_gguf_says_what_is_put_around_a_text(
    flags: dict[str, Any], first: list[int], last: list[int], tmp_path: Path
) -> None:
    flags = {"bos_token_id": 1, "eos_token_id": 2, **flags}
    ours = gguf_of_pieces(tmp_path, **{key: flag for key, flag in flags.items() if flag is not None})
    ids = ours.encode("ab")
    assert ours.encode("ab", add_special_tokens=True) == [*first, *ids, *last]
    assert ours.encode("ab", "ab", add_special_tokens=True) == [*first, *ids, *last] * 2
    assert ours.as_huggingface().encode("ab").ids == [*first, *ids, *last]


def test_gguf_of_bytes_is_split_as_it_says(tmp_path: Path) -> None:
    from pairloom._internal.byte_alphabet import to_alphabet

    trained = Tokenizer.train(["low lower 12 345 lowest"] * 3, 280, profile="cs336")
    tokens = [to_alphabet(token) for _, token in sorted(trained.model.tokens().items())]
    merges = [f"{to_alphabet(left)} {to_alphabet(right)}" for left, right in trained.merges]
    columns: dict[str, Any] = {"model": "gpt2", "tokens": tokens, "merges": merges}
    ours = load(tmp_path, gguf_file(**columns, pre="gpt-2"), "x.gguf")
    assert ours.encode("lowest 12 345") == trained.encode("lowest 12 345")
    assert load(tmp_path, gguf_file(**columns, pre="starcoder"), "x.gguf").pattern != ours.pattern
    # llama.cpp's default is 11, a line feed here.
    around = load(tmp_path, gguf_file(**columns, pre="gpt-2", add_eos_token=True), "x.gguf")
    assert around.encode("low", add_special_tokens=True) == [*ours.encode("low"), 11]
    with pytest.raises(FormatError, match=r"model \"gemma4\" does not split text by a pattern; leave out pattern="):
        formats.read("gguf", gguf_file(**{**columns, "model": "gemma4"}), pattern="gpt2")
    for unknown in (gguf_file(**columns, pre="nobody"), gguf_file(**columns)):
        with pytest.raises(FormatError, match=r"load it with pattern=.*Known pre-tokenizers: gpt-2") as refusal:
            load(tmp_path, unknown, "x.gguf")
        assert Tokenizer.load(tmp_path / "x.gguf", pattern="gpt2").model == ours.model
    names = str(refusal.value).rpartition(": ")[2].split(", ")
    loaded = {name: load(tmp_path, gguf_file(**columns, pre=name), "x.gguf") for name in names}
    assert len(loaded) >= 86
    assert all(each.decode(each.encode("lowest 12 345")) == "lowest 12 345" for each in loaded.values())
    named = {"qwen35": "qwen3.5", "kimi-k2": "kimi", "exaone-moe": "exaone4", "glm4": "llama3", "jina-v2-code": "gpt2"}
    for name, pattern in named.items():
        assert loaded[name].pattern == pattern_text(pattern)
    # What only llama.cpp's code says of them.
    adds_bos = {name for name, each in loaded.items() if len(each.encode("", add_special_tokens=True))}
    assert {"falcon3", "lfm2", "tekken", "chameleon"} < adds_bos
    assert not adds_bos & {"glm4", "youtu", "qwen35"}
    with pytest.raises(FormatError, match="reads only gpt2, llama and gemma4"):
        formats.read("gguf", gguf_file(model="bert", tokens=["a"]))


def test_lists_of_lists_in_a_gguf_are_refused_however_deep() -> None:
    deep = struct.pack("<IQ", 9, 1) * 200_000
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"x" + struct.pack("<I", 9) + deep
    with pytest.raises(FormatError, match="a list of lists"):
        formats.read("gguf", data)


def test_json_after_an_empty_line_is_no_sentencepiece_model(tmp_path: Path) -> None:
    text = "\n{\n" + json.dumps(tokenizer_json(random.Random(1), "none"), indent=2)[1:]
    assert load(tmp_path, text.encode(), "tokenizer.json").n_vocab > 256


def test_a_file_is_refused_wherever_it_is_cut_off() -> None:
    model = model_file([*_FIRST, *_BYTES, ("a", -1.0, NORMAL)])
    gguf = gguf_file(model="llama", tokens=["a"], scores=[0.0], token_type=[1])
    for format, data, ends in (("sentencepiece", model, range(3, len(model), 97)), ("gguf", gguf, range(4, len(gguf)))):
        for end in ends:
            with pytest.raises((FormatError, ValueError)):
                formats.read(format, data[:end])


_NAMES = ["command-r", "deepseek-coder", "falcon", "gemma-4", "gpt-2", "gpt-neox"]
_NAMES += ["llama-spm", "mpt", "phi-3", "qwen2", "starcoder"]


@needs_families
@pytest.mark.parametrize("name", _NAMES)
def test_published_gguf_vocabularies_give_their_owners_ids(name: str) -> None:
    path = FAMILIES / f"ggml-vocab-{name}.gguf"
    tokenizer = Tokenizer.load(path, missing_bytes="raise", pattern="gpt2" if name == "gpt-neox" else None)
    answers = Path(f"{path}.out")
    texts = Path(f"{path}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n") if answers.exists() else []
    for text, line in zip(texts, answers.read_text().split("\n") if texts else [], strict=False):
        assert tokenizer.encode(text) == [int(each) for each in line.split()], text


def test_inspect_shows_pieces_that_no_text_makes_and_the_stages(tmp_path: Path) -> None:
    from pairloom.analysis.inspect import inspect_tokenizer
    from pairloom.analysis.stages import stages

    made: list[Piece] = [("aba", -1.0, NORMAL), ("ab", -2.0, NORMAL), ("bbb", -3.0, NORMAL)]
    tokenizer = load(tmp_path, model_file([*SINGLE, *made]))
    assert inspect_tokenizer(tokenizer)["unreachable"] == [266]
    assert stages(tokenizer, "ab")[2:4] == ["token ' ': 263", "token 'ab': 265"]


def test_control_pieces_in_a_text_stay_text(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, model_file(SINGLE))
    assert 2 not in tokenizer.encode("a</s>")
    assert tokenizer.encode("a</s>", allowed_special={"</s>"})[-1] == 2
    assert tokenizer.special_tokens == {"<unk>": 0, "<s>": 1, "</s>": 2}
