"""The stand-in for tokenizers.Tokenizer against the library: every field of encodings, in every setup."""

import asyncio
import inspect
import json
import pickle
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import pairloom.dropin.tokenizers
from pairloom import Tokenizer
from pairloom.dropin.encoding import Encoding
from pairloom.dropin.huggingface_tokenizer import HuggingFaceTokenizer
from tests import cases
from tests.corpora import random_documents
from tests.formats.test_sentencepiece import tokenizer_json

# Python takes the ASCII separators U+001C to U+001F for white space; Unicode and the library do not.
SPECIALS = ["<s>", "</s>", "<think>", "\x1c<a>\x1f"]
TEXTS: list[str] = cases.INPUTS["stand_in"]
POST_PROCESSORS = {case.name: case.post_processor for case in cases.cases_of("post_processing")}
FIELDS = (
    *("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids", "words"),
    *("sequence_ids", "n_sequences"),
)


def trained() -> Tokenizer:
    corpus = [text for seed in range(20) for text in random_documents(random.Random(seed))]
    corpus += ["hello world the end of it naïve 東京 😀 333 the the"] * 4
    return Tokenizer.train(corpus, 360, "huggingface", special_tokens=SPECIALS)


@pytest.fixture(scope="module", params=POST_PROCESSORS, ids=str)
def pair(request: pytest.FixtureRequest) -> tuple[HuggingFaceTokenizer, Any]:
    file = json.loads(trained().to_huggingface().to_str())
    file["post_processor"] = POST_PROCESSORS[request.param]
    file["added_tokens"][2]["special"] = False
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    return Tokenizer.from_huggingface(theirs).as_huggingface(), theirs


def fields(encoding: Any) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(encoding, name) for name in FIELDS}
    found["overflowing"] = [fields(part) for part in encoding.overflowing]
    return found


def compared(pair: tuple[HuggingFaceTokenizer, Any], method: str, *arguments: Any, **options: Any) -> None:
    outcomes: list[Any] = []
    for each in pair:
        try:
            found = getattr(each, method)(*arguments, **options)
        except BaseException as error:  # the library's panics are not subclasses of Exception
            outcomes.append(type(error).__name__ if isinstance(error, TypeError) else "error")
            continue
        outcomes.append([fields(one) for one in found] if isinstance(found, list) else fields(found))
    assert outcomes[0] == outcomes[1], (method, arguments, options)


def run_all(pair: tuple[HuggingFaceTokenizer, Any], rng: random.Random, n: int) -> None:
    for _ in range(n):
        first, second = rng.choice(TEXTS), rng.choice([None, None, *TEXTS])
        options = {"add_special_tokens": rng.random() < 0.7}
        compared(pair, "encode", first, second, **options)
        words = rng.choices(TEXTS, k=rng.randrange(4))
        compared(pair, "encode", words, rng.choice([None, words[:1]]), is_pretokenized=True, **options)
    batch: list[Any] = rng.choices(TEXTS, k=5)
    compared(pair, "encode_batch", batch)
    compared(pair, "encode_batch", batch, add_special_tokens=False)
    compared(pair, "encode_batch_fast", batch)
    compared(pair, "encode_batch", [*batch, ("a b", "the end")])
    compared(pair, "encode_batch", [["the", " end"], (["a"], ["b", "c"]), ["x"]], is_pretokenized=True)


def reset(pair: tuple[HuggingFaceTokenizer, Any]) -> None:
    for each in pair:
        each.no_padding()
        each.no_truncation()
        each.encode_special_tokens = False


def test_encodings_are_equal(pair: tuple[HuggingFaceTokenizer, Any]) -> None:
    reset(pair)
    for text in TEXTS:
        for second in [None, *TEXTS]:
            for add in (True, False):
                compared(pair, "encode", text, second, add_special_tokens=add)
    run_all(pair, random.Random(0), 5)
    for each in pair:
        each.encode_special_tokens = True
    run_all(pair, random.Random(1), 10)


def enabled(each: Any, **truncation: Any) -> bool:
    """Whether truncation could be enabled; it is refused if the stride is too long for what is left."""
    try:
        each.enable_truncation(**truncation)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("seed", range(16))
def test_encodings_are_equal_truncated_and_padded(seed: int, pair: tuple[HuggingFaceTokenizer, Any]) -> None:
    rng = random.Random(seed)
    reset(pair)
    truncation: dict[str, Any] = {
        # Of less than 3, special tokens leave no room: then the text is not cut.
        "max_length": rng.choice([0, 1, 2, 4, 5, 8, 12, 20]),
        "stride": rng.choice([0, 0, 2, 3, 10]),
        "strategy": rng.choice(["longest_first", "only_first", "only_second"]),
        "direction": rng.choice(["right", "left"]),
    }
    padding: dict[str, Any] = {
        "direction": rng.choice(["right", "left"]),
        "pad_id": rng.randrange(3),
        "pad_type_id": rng.randrange(3),
        "pad_token": rng.choice(["[PAD]", "<s>"]),
        "length": rng.choice([None, None, 6, 30]),
        "pad_to_multiple_of": rng.choice([None, 4, 8]),
    }
    if seed % 3 != 1:
        outcomes = [enabled(each, **truncation) for each in pair]
        assert outcomes[0] == outcomes[1], truncation
    for each in pair:
        if seed % 3 != 2:
            each.enable_padding(**padding)
    assert (pair[0].truncation, pair[0].padding) == (pair[1].truncation, pair[1].padding)
    run_all(pair, rng, 10)


@pytest.mark.parametrize("seed", range(24))
def test_offsets_of_tokens_that_take_white_space_along(seed: int) -> None:
    rng = random.Random(seed)
    file = json.loads(trained().to_huggingface().to_str())
    file["pre_tokenizer"]["add_prefix_space"] = seed % 2 == 0
    file["normalizer"] = rng.choice([None, {"type": "NFC"}, {"type": "Lowercase"}])
    file["post_processor"] = rng.choice([*POST_PROCESSORS.values()])
    first, second = (token["content"] for token in file["added_tokens"][:2])
    for token in file["added_tokens"]:
        token |= {"lstrip": rng.random() < 0.6, "rstrip": rng.random() < 0.4}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    # Also white space that is a token, and words that merging produces from other texts.
    for text in rng.sample(["\t", "  ", "the", "a"], k=seed % 4):
        theirs.add_tokens([tokenizers.AddedToken(text, single_word=rng.random() < 0.7, normalized=False)])
    pair = Tokenizer.from_huggingface(theirs).as_huggingface(), theirs
    parts = [" ", "  ", "\t", "\u3000", "\x1c", "\x85", "the", " cat", "other", "\u00e9", "\U0001f600"]
    parts += [first, first, second, *(["\u0301a"] if file["normalizer"] is None else [])]
    for _ in range(40):
        text = "".join(rng.choices(parts, k=rng.randrange(9)))
        compared(pair, "encode", text)
        compared(pair, "encode", text, "the \U0001f600")
        compared(pair, "encode", [text, "a", text], is_pretokenized=True)


def test_offsets_where_tokens_take_white_space_and_text_changes() -> None:
    file = json.loads(trained().to_huggingface().to_str())
    file["normalizer"] = {"type": "Lowercase"}
    file["added_tokens"][0]["lstrip"] = True
    ours = Tokenizer.from_huggingface(tokenizers.Tokenizer.from_str(json.dumps(file))).as_huggingface()
    with pytest.raises(ValueError, match="changes the text"):
        _ = ours.encode("A <s>").tokens


def test_indices_of_one_kind_and_another(pair: tuple[HuggingFaceTokenizer, Any]) -> None:
    reset(pair)
    for text, second in ((TEXTS[2], None), (TEXTS[3], TEXTS[5]), ("", "a b")):
        ours, theirs = (each.encode(text, second) for each in pair)
        for index in range(len(theirs) + 2):
            for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
                assert getattr(ours, name)(index) == getattr(theirs, name)(index), (name, index, text)
        for sequence in range(theirs.n_sequences):
            for index in range(30):
                for name in ("char_to_token", "char_to_word", "word_to_chars", "word_to_tokens"):
                    found = getattr(ours, name)(index, sequence)
                    assert found == getattr(theirs, name)(index, sequence), (name, index, sequence, text)


def test_encodings_can_be_changed_and_merged(pair: tuple[HuggingFaceTokenizer, Any]) -> None:
    reset(pair)
    both: list[Any] = [[each.encode(text) for text in TEXTS] for each in pair]
    for growing in (True, False):
        ours, theirs = Encoding.merge(both[0], growing), tokenizers.Encoding.merge(both[1], growing)
        assert fields(ours) == fields(theirs)
    for ours, theirs in zip(*both, strict=True):
        for each in (ours, theirs):
            each.truncate(3, stride=1)
            each.pad(5, direction="left", pad_id=2, pad_type_id=1, pad_token="x")
            each.truncate(4, direction="left")
            each.set_sequence_id(1)
        assert fields(ours) == fields(theirs)
        assert len(ours) == len(theirs) and repr(ours) == repr(theirs)
        ours.truncate(0)
        theirs.truncate(0)
        assert fields(ours) == fields(theirs)


def test_wrong_arguments_are_refused_as_by_the_library(pair: tuple[HuggingFaceTokenizer, Any]) -> None:
    reset(pair)
    ours, theirs = pair
    calls: list[Callable[[Any], Any]] = [
        lambda each: each.encode("a b", "c").truncate(1, direction="up"),
        lambda each: each.encode("a b", "c").pad(9, direction="up"),
        lambda each: each.enable_padding(pad_token=3),
        lambda each: each.enable_padding(length="a"),
        lambda each: each.encode_batch("abc"),
        lambda each: each.encode_batch_fast({"a": 1}),
        lambda each: each.decode("abc"),
        lambda each: each.token_to_id(None),
        lambda each: each.id_to_token("a"),
    ]
    for method in ("token_to_chars", "token_to_word", "token_to_sequence", "char_to_token", "char_to_word"):
        calls.append(partial(lambda method, each: getattr(each.encode("a b", "c"), method)(-1), method))
    calls += [partial(lambda token_id, each: each.decode([5, token_id]), odd) for odd in (-100, 1 << 32, 1 << 64)]
    calls += [lambda each: each.encode("a", "b").word_to_tokens(0, -1), lambda each: each.id_to_token(-1)]
    for number, call in enumerate(calls):
        errors = []
        for each in pair:
            with pytest.raises((ValueError, TypeError, OverflowError)) as caught:
                call(each)
            errors.append(caught.type)
        assert errors[0] is errors[1], number
    with pytest.raises(ValueError, match="pad_id must be at least 0"):
        ours.enable_padding(pad_id=-1)
    # An unknown id is skipped, as in the library.
    assert ours.decode([5, 5000]) == theirs.decode([5, 5000])


def test_decoding_and_vocabulary(pair: tuple[HuggingFaceTokenizer, Any], tmp_path: Path) -> None:
    ours, theirs = pair
    reset(pair)
    rng = random.Random(5)
    for _ in range(200):
        ids = [rng.randrange(theirs.get_vocab_size() + 3) for _ in range(rng.randrange(10))]
        for skip in (True, False):
            assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip)
    lists = [ours.encode(text).ids for text in TEXTS]
    assert ours.decode_batch(lists) == theirs.decode_batch(lists)
    assert ours.decode_batch(lists, False) == theirs.decode_batch(lists, False)
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    for token_id in range(theirs.get_vocab_size() + 2):
        token = theirs.id_to_token(token_id)
        assert ours.id_to_token(token_id) == token
        assert token is None or ours.token_to_id(token) == token_id
    assert ours.token_to_id("no token") is None
    for is_pair in (True, False):
        assert ours.num_special_tokens_to_add(is_pair) == theirs.num_special_tokens_to_add(is_pair)
    ours.save(str(tmp_path / "tokenizer.json"))
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [again.encode(text).ids for text in TEXTS] == lists


def test_a_pickle_keeps_padding_and_truncation() -> None:
    ours = trained().as_huggingface()
    ours.enable_padding(length=8)
    ours.enable_truncation(5)
    again = pickle.loads(pickle.dumps(ours))
    assert fields(again.encode("the end of it, hello world")) == fields(ours.encode("the end of it, hello world"))


def test_truncation_and_padding_of_the_file_apply() -> None:
    cut = {"max_length": 4, "strategy": "LongestFirst", "stride": 1}
    filled: dict[str, Any] = {"direction": "Left", "pad_id": 1, "pad_type_id": 0, "pad_token": "</s>"}
    file = json.loads(trained().to_huggingface().to_str())
    for change in (
        {"truncation": cut},
        {"truncation": {**cut, "direction": "Left"}, "padding": {**filled, "strategy": {"Fixed": 6}}},
        {"padding": {**filled, "strategy": "BatchLongest", "pad_to_multiple_of": 8}},
    ):
        text = json.dumps({**file, **change})
        theirs = tokenizers.Tokenizer.from_str(text)
        ours = Tokenizer.from_huggingface(theirs).as_huggingface()
        for each in (ours, pairloom.dropin.tokenizers.Tokenizer.from_str(text)):
            assert (each.truncation, each.padding) == (theirs.truncation, theirs.padding)
            assert fields(each.encode(TEXTS[2])) == fields(theirs.encode(TEXTS[2]))
        assert tokenizers.Tokenizer.from_str(ours.to_str()).encode(TEXTS[2]).ids == theirs.encode(TEXTS[2]).ids


def test_methods_take_the_arguments_of_the_library() -> None:
    lacking = {"from_buffer", "from_file", "from_pretrained", "from_str", "train", "train_from_iterator"}
    lacking |= {"model", "normalizer", "pre_tokenizer", "post_processor", "decoder", "add_tokens"}
    lacking |= {"get_added_tokens_decoder", "add_special_tokens"}
    for name in dir(tokenizers.Tokenizer):
        if name.startswith(("_", "async_")) or name in lacking:
            continue
        if name == "encode_special_tokens":
            assert trained().as_huggingface().encode_special_tokens is False
            continue
        ours, theirs = getattr(HuggingFaceTokenizer, name), getattr(tokenizers.Tokenizer, name)
        if not callable(theirs):
            continue
        text = theirs.__text_signature__.strip("()").replace("$self", "self").replace(", /", "")
        wanted = [part.split("=")[0].strip() for part in text.split(",")]
        found = [name for name in inspect.signature(ours).parameters if not name.startswith("_")]
        assert found[: len(wanted)] == wanted, name


def test_special_tokens_written_as_other_tokens_lose_no_text() -> None:
    tokenizer = Tokenizer.train(["the cat sat on the mat 頁 " * 5], 300, "huggingface", special_tokens=["</s>"])
    for literal, text in (("é", "頁"), ("Ġthe", "on the mat"), ("Ġ", "a b")):
        stand_in = tokenizer.add_special_tokens([literal]).as_huggingface()
        encoding = stand_in.encode(text)
        assert stand_in.decode(encoding.ids, skip_special_tokens=False) == text
        assert len(encoding.tokens) == len(encoding.ids)


def test_post_process_leaves_its_arguments_as_they_are() -> None:
    stand_in = Tokenizer.train("the cat on the mat", 260).as_huggingface()
    encoding, pair = stand_in.encode("the cat on the mat"), stand_in.encode("the")
    before = [(list(each.ids), list(each.type_ids), list(each.sequence_ids)) for each in (encoding, pair)]
    stand_in.enable_truncation(3)
    whole = stand_in.post_process(encoding, pair)
    assert len(whole) == 3 and whole.ids == stand_in.post_process(encoding, pair).ids
    assert [(list(each.ids), list(each.type_ids), list(each.sequence_ids)) for each in (encoding, pair)] == before
    with pytest.warns(UserWarning, match="truncation and padding"):
        stand_in.to_str()
    with pytest.raises(ValueError, match="largest"):
        stand_in.enable_padding(pad_id=1 << 32)


def sentencepiece_like(*normalized: str) -> Any:
    """A tokenizer.json as Llama's, whose added tokens in `normalized` are searched for after normalizing."""
    texts = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"ab▁", "▁a"]
    file = tokenizer_json(random.Random(1), "prepend")
    entry = file["added_tokens"][0]
    file["added_tokens"] = [
        {**entry, "id": index, "content": text, "normalized": text in normalized}
        for index, text in enumerate(texts[:3])
    ]
    vocab = {text: index for index, text in enumerate(texts)}
    file["model"] |= {"unk_token": "<unk>", "vocab": vocab, "merges": ["▁ a"]}
    return tokenizers.Tokenizer.from_str(json.dumps(file))


def test_special_tokens_that_normalizing_changes_are_not_skipped() -> None:
    theirs = sentencepiece_like("<s>", "</s>")
    theirs.add_tokens(["foo"])
    ours = Tokenizer.from_huggingface(theirs).as_huggingface()
    for text in ("a b</s>", "a </s> b", "<s>a", "a foo"):
        compared((ours, theirs), "encode", text)
        for skip in (True, False):
            ids = theirs.encode(text).ids
            assert ours.decode(ids, skip) == theirs.decode(ids, skip)
        ours.encode_special_tokens = theirs.encode_special_tokens = True
        compared((ours, theirs), "encode", text)
        ours.encode_special_tokens = theirs.encode_special_tokens = False
    assert [ours.id_to_token(token_id) for token_id in range(263)] == list(map(theirs.id_to_token, range(263)))
    assert theirs.decode([1, 259], True) == "<s>a" and theirs.id_to_token(1) == "▁<s>"


def test_added_tokens_that_are_also_pieces_or_unknown_characters() -> None:
    for byte_fallback in (True, False):
        theirs = sentencepiece_like("<unk>")
        theirs.model.byte_fallback = byte_fallback
        theirs.add_tokens([tokenizers.AddedToken("a", single_word=True, normalized=False), "b"])
        ours = Tokenizer.from_huggingface(theirs).as_huggingface()
        for text in ("abb", "b a b", "aa a", "a é", "<unk>é <unk>"):
            assert ours.encode(text).tokens == theirs.encode(text).tokens
        for text in ("aa a", "<unk>"):
            compared((ours, theirs), "encode", text)
    assert ours.encode("<unk>é").tokens == ["▁<unk>", "<unk>"]


def test_offsets_are_refused_where_absorbed_white_space_holds_tokens() -> None:
    theirs = sentencepiece_like()
    theirs.normalizer = tokenizers.normalizers.Replace(" ", "\u2581")
    steps = tokenizers.decoders
    theirs.decoder = steps.Sequence([steps.Replace("\u2581", " "), steps.ByteFallback(), steps.Fuse()])
    theirs.add_special_tokens([tokenizers.AddedToken("<r>", rstrip=True), "\n"])
    ours = Tokenizer.from_huggingface(theirs).as_huggingface()
    assert ours.encode("<r>\na").ids == theirs.encode("<r>\na").ids
    assert theirs.encode("<r>\na").offsets == [(0, 4), (3, 4), (4, 5)]
    with pytest.raises(ValueError, match="absorb white space"):
        _ = ours.encode("<r>\na").offsets
    compared((ours, theirs), "encode", "a<r>a\n")


def test_added_tokens_in_any_case_are_spelled_as_they_are_found() -> None:
    theirs = trained().to_huggingface()
    theirs.normalizer = tokenizers.normalizers.Lowercase()
    theirs.add_tokens(["[A]"])
    ours = Tokenizer.from_huggingface(theirs).as_huggingface()
    for text in ("a [a] b", "a [A]b", "[A]<s>"):
        assert ours.encode(text).tokens == theirs.encode(text).tokens
    assert ours.encode("[A]").tokens == ["[a]"] and ours.id_to_token(360) == theirs.id_to_token(360) == "[a]"


def test_a_vocabulary_without_added_tokens_has_listed_ones() -> None:
    theirs = sentencepiece_like()
    theirs.add_special_tokens(["<pad>"])
    ours = Tokenizer.from_huggingface(theirs).as_huggingface()
    assert ours.get_vocab(False) == theirs.get_vocab(False) and "<s>" in ours.get_vocab(False)
    assert ours.get_vocab_size(False) == theirs.get_vocab_size(False) == len(theirs.get_vocab()) - 1


def test_special_tokens_that_stay_text_hide_overlapping_tokens() -> None:
    theirs = trained().to_huggingface()
    tokens = {"xyx": True, "yxz": False, "bab": True, "ab": False}
    theirs.add_tokens([tokenizers.AddedToken(text, normalized=False, special=tokens[text]) for text in tokens])
    ours = Tokenizer.from_huggingface(theirs).as_huggingface()
    for each in (ours, theirs):
        each.encode_special_tokens = True
    for text in ("xyxz", "yxz", "xbabab", "<s>ab", "ab<s>bab ab"):
        compared((ours, theirs), "encode", text)
    assert len(theirs.encode("xyxz")) > 2


def test_async_methods_return_what_the_others_do() -> None:
    ours = trained().as_huggingface()

    async def found() -> list[Any]:
        batches = await ours.async_encode_batch(TEXTS), await ours.async_encode_batch_fast(TEXTS)
        one = await ours.async_encode(TEXTS[2], add_special_tokens=False)
        return [[each.ids for each in batch] for batch in (*batches, [one])] + [await ours.async_decode_batch([[5]])]

    ids = [each.ids for each in ours.encode_batch(TEXTS)]
    assert asyncio.run(found()) == [ids, ids, [ours.encode(TEXTS[2], None, False, False).ids], [ours.decode([5])]]


def test_lists_of_an_encoding_are_the_callers_own(pair: tuple[HuggingFaceTokenizer, Any]) -> None:
    reset(pair)
    ours, theirs = (each.encode(TEXTS[2]) for each in pair)
    for name in FIELDS[:-1]:
        for each in (ours, theirs):
            getattr(each, name).append(None)
    assert fields(ours) == fields(theirs) and len(ours) == len(theirs)
