"""`fast`: a transformers tokenizer that pairloom runs equals the one it was made from, also in model servers."""

import copy
import json
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import tokenizers.decoders

from pairloom import FormatError, Tokenizer

transformers = pytest.importorskip("transformers")

from pairloom.dropin.transformers import fast  # noqa: E402

TEXTS = ["Hello world", "a", "", "some longer text, 日本語 👩‍👩‍👧 " * 3, "<|end|> in", "é  x\n\n y"]
CALLS: list[dict[str, Any]] = [
    {},
    {"padding": True},
    {"padding": "max_length", "max_length": 7, "truncation": True},
    {"padding": "max_length", "max_length": 4},
    {"padding": "max_length", "max_length": 4, "pad_to_multiple_of": 8},
    {"padding": True, "return_tensors": "np"},
    {"padding": True, "return_tensors": "np", "padding_side": "left", "pad_to_multiple_of": 8},
    {"truncation": True, "max_length": 3},
    {"truncation": True, "max_length": 1},
    {"truncation": True, "max_length": np.int64(2)},
    {"padding": "max_length", "max_length": np.int64(2)},
    {"padding": True, "pad_to_multiple_of": np.int64(2)},
    {"truncation": True, "max_length": 4, "stride": 1, "return_overflowing_tokens": True},
    {"truncation": "only_first", "max_length": 5, "padding": True, "return_tensors": "np"},
    {"return_offsets_mapping": True},
    {"return_token_type_ids": True, "padding": True},
    {"text_pair": TEXTS[::-1], "padding": True},
    {"add_special_tokens": False},
    {"split_special_tokens": True},
    {"return_attention_mask": False},
    {"return_length": True, "return_special_tokens_mask": True},
]


def with_start(theirs: Any) -> Any:
    from tokenizers.processors import TemplateProcessing

    theirs.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|end|> $A <|end|>", pair="<|end|> $A $B:1", special_tokens=[("<|end|>", 0)]
    )
    return theirs


def cut_left(theirs: Any) -> Any:
    theirs.truncation_side = theirs.padding_side = "left"
    return theirs


@pytest.fixture(params=[lambda theirs: theirs, with_start, cut_left], ids=["plain", "template", "left"])
def theirs(request: pytest.FixtureRequest) -> Any:
    trained = Tokenizer.train(TEXTS * 3, 301, special_tokens=["<|end|>"], profile="huggingface")
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained.to_huggingface(), eos_token="<|end|>", pad_token="<|end|>", model_max_length=1000
    )
    change: Callable[[Any], Any] = request.param
    return change(made)


def as_lists(batch: Any) -> dict[str, Any]:
    return {
        key: (value.tolist(), value.dtype) if isinstance(value, np.ndarray) else value for key, value in batch.items()
    }


@pytest.mark.parametrize("options", CALLS, ids=lambda options: ",".join(options) or "none")
def test_calls_return_what_the_tokenizer_itself_returns(theirs: Any, options: dict[str, Any]) -> None:
    ours = fast(theirs)
    assert isinstance(ours, type(theirs)) and ours.is_fast
    for texts in (TEXTS, TEXTS[:1], TEXTS[3], [TEXTS[0]] * 2):
        given = {**options, "text_pair": texts} if "text_pair" in options else options
        expected, found = theirs(texts, **given), ours(texts, **given)
        assert list(found) == list(expected) and as_lists(found) == as_lists(expected)
        for nth in range(len(expected.encodings)):
            assert found[nth].tokens == expected[nth].tokens
            assert found.word_ids(nth) == expected.word_ids(nth)
            assert found.sequence_ids(nth) == expected.sequence_ids(nth)
    assert ours.batch_decode(ours(TEXTS)["input_ids"]) == theirs.batch_decode(theirs(TEXTS)["input_ids"])


def test_changes_pickles_copies_and_saved_folders_are_kept(theirs: Any, tmp_path: Path) -> None:
    ours = fast(theirs)
    before = ours(TEXTS)["input_ids"]
    for each in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), fast(ours)):
        assert type(each).__name__ == type(theirs).__name__ and each(TEXTS)["input_ids"] == before
    changed = copy.deepcopy(ours)
    changed.add_tokens(["<|new|>"])
    assert changed("a<|new|>")["input_ids"] != ours("a<|new|>")["input_ids"] and len(changed) == len(ours) + 1
    ours.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["tokenizer_class"]
    assert transformers.AutoTokenizer.from_pretrained(tmp_path)(TEXTS)["input_ids"] == before
    again = type(ours).from_pretrained(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)(TEXTS, padding=True)["input_ids"]
    assert again(TEXTS, padding=True, return_tensors="np")["input_ids"].tolist() == loaded
    assert fast(tmp_path)(TEXTS)["input_ids"] == before
    assert pickle.loads(pickle.dumps(ours(TEXTS, padding=True)))["input_ids"] == ours(TEXTS, padding=True)["input_ids"]


def test_added_tokens_that_cannot_be_found_alike_are_refused(theirs: Any) -> None:
    original = copy.deepcopy(theirs)
    original._tokenizer.normalizer = tokenizers.normalizers.NFC()
    ours = fast(original)
    changed = copy.deepcopy(ours)
    changed.add_tokens(["Key"])
    with pytest.raises(FormatError, match=r'"Key" has normalized=true.*after the normalizer .nfc.*Set normalized'):
        changed(TEXTS)
    # Special ones, and those that say so, are looked for in the text as it is; others of ASCII where NFC leaves them.
    for tokenizer in (ours, original):
        tokenizer.add_tokens(["obs"])
        tokenizer.add_tokens([tokenizers.AddedToken("word", normalized=False)])
        tokenizer.add_tokens(["e\u0301"], special_tokens=True)
    # So are those that do not go together with one that is there.
    ours.add_tokens([tokenizers.AddedToken("<r>", rstrip=True, normalized=False)])
    changed = copy.deepcopy(ours)
    changed.add_tokens([tokenizers.AddedToken(" x", lstrip=True, normalized=False)])
    with pytest.raises(FormatError, match='" x" starts with white space, and another one'):
        changed(TEXTS)
    texts = ["a word e\u0301 \u00e9 words, jobs, obs\u0301 ob\u015b"]
    assert ours(texts)["input_ids"] == original(texts)["input_ids"]


def test_a_special_token_added_again_as_none_stays_special(theirs: Any) -> None:
    ours = fast(theirs)
    for tokenizer in (theirs, ours):
        tokenizer.add_tokens(["<|end|>", "<new>"])
    ids = theirs("a<|end|><new>")["input_ids"]
    for found in (ours, fast(theirs)):
        assert found.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True) == "a<new>"
        assert found.backend_tokenizer.to_str() == theirs.backend_tokenizer.to_str()
        split = [each(TEXTS, split_special_tokens=True)["input_ids"] for each in (found, theirs)]
        assert split[0] == split[1]
    assert Tokenizer.from_huggingface(theirs).decode(ids, skip_special_tokens=True) == "a<new>"


def test_an_added_token_whose_id_the_library_changes_is_refused() -> None:
    # The library gives the next id after the largest; reading its own file, the number of entries.
    trained = Tokenizer.train(TEXTS, 280, special_tokens=[]).add_special_tokens({"<|end|>": 300})
    original = transformers.PreTrainedTokenizerFast(tokenizer_object=trained.to_huggingface())
    ours = fast(original)
    assert ours(TEXTS)["input_ids"] == original(TEXTS)["input_ids"]
    original.add_tokens(["<new>"])
    with pytest.raises(FormatError, match="added token '<new>' has id 301, but 281 once this"):
        fast(original)


def test_a_tokenizer_of_pairloom_becomes_one_of_transformers() -> None:
    trained = Tokenizer.train(TEXTS, 280)
    assert fast(trained)(TEXTS)["input_ids"] == trained.encode_batch(TEXTS)


@pytest.mark.parametrize(
    ("texts", "options"),
    [(["Hello world"], {}), (TEXTS * 9, {"return_tensors": "np"}), (TEXTS, {"return_offsets_mapping": True})],
    ids=["single text", "batch", "offsets"],
)
def test_threads_that_share_one_cut_and_pad_as_each_asks(theirs: Any, texts: Any, options: dict[str, Any]) -> None:
    ours, switch_interval = fast(theirs), sys.getswitchinterval()

    def lengths(limit: int) -> set[int]:
        given = texts if options else texts[0]
        filled = ours(given, padding="max_length", truncation=True, max_length=limit, **options)["input_ids"]
        return set(map(len, filled)) if options else {len(filled)}

    limits = [5, 6, 7, 8] * 40
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lengths, limits)) == [{limit} for limit in limits]
    finally:
        sys.setswitchinterval(switch_interval)


def test_parts_that_are_changed_in_place_count(theirs: Any) -> None:
    ours = fast(theirs)
    assert ours(TEXTS)["input_ids"] == theirs(TEXTS)["input_ids"]
    for each in (ours, theirs):
        each.backend_tokenizer.pre_tokenizer.add_prefix_space = (
            not each.backend_tokenizer.pre_tokenizer.add_prefix_space
        )
    assert ours(TEXTS)["input_ids"] == theirs(TEXTS)["input_ids"]
    ours.backend_tokenizer.model.dropout = 0.5
    with pytest.raises(FormatError, match=r"dropout is 0\.5, which pairloom does not support"):
        ours(TEXTS)


def test_tokens_that_the_decoder_spells_otherwise_are_decoded_so(theirs: Any) -> None:
    theirs.add_tokens(["é", "<|a|>"])
    theirs.add_special_tokens({"mask_token": "µ"})
    ours, ids = fast(theirs), theirs("aé<|a|>µb")["input_ids"]
    assert "é" not in theirs.decode(ids)
    for skip in (True, False):
        assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip)


def test_words_of_clip_are_decoded_as_its_tokenizer_does() -> None:
    bytes_ = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    texts = [*bytes_, *(each + "</w>" for each in bytes_), "ab</w>", "<|startoftext|>", "<|endoftext|>"]
    vocab = {text: index for index, text in enumerate(texts)}
    theirs = transformers.CLIPTokenizer(vocab=vocab, merges=[("a", "b</w>")])
    ours = fast(theirs)
    ids = theirs("ab  a!")["input_ids"]
    for skip, text in ((True, "ab a !"), (False, "<|startoftext|>ab a ! <|endoftext|>")):
        assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip) == text
    plain = transformers.PreTrainedTokenizerFast(tokenizer_object=theirs._tokenizer)
    assert fast(plain).decode(ids) == plain.decode(ids)


def test_a_template_types_a_text_without_special_tokens(theirs: Any) -> None:
    theirs._tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|end|> $A:1", pair="$A $B:1", special_tokens=[("<|end|>", 0)]
    )
    for is_added in (True, False):
        options = {"add_special_tokens": is_added, "return_token_type_ids": True}
        assert fast(theirs)(TEXTS, **options) == theirs(TEXTS, **options)


def test_what_cannot_be_run_is_refused() -> None:
    from tokenizers import Tokenizer as Theirs
    from tokenizers import models

    pieces = transformers.PreTrainedTokenizerFast(tokenizer_object=Theirs(models.WordPiece({"a": 0}, unk_token="a")))
    with pytest.raises(FormatError, match=r"model: the model type is .WordPiece.; pairloom reads only BPE"):
        fast(pieces)
    with pytest.raises(TypeError, match="an object of type int has no"):
        fast(5)
    with pytest.raises(TypeError, match="use_fast= applies only to a folder"):
        fast(pieces, use_fast=True)


# What model servers do with it, tested without a server: docs/guides/servers.md.
SERVED = "low lower <|end|> é"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    Tokenizer.train("low lower lowest " * 20, 270, special_tokens=["<|end|>"]).save_pretrained(path)
    return path


def test_fast_survives_the_wrappers_of_vllm(folder: Path) -> None:
    # They copy the object, shallowly and deeply, and put a subclass with cached properties in its class's place.
    expected = Tokenizer.load(folder).encode(SERVED)
    found = fast(folder)

    def cached(tokenizer: Any) -> Any:
        wrapped = copy.copy(tokenizer)
        members = {"max_token_id": property(lambda _: 269), "__reduce__": lambda _: (cached, (tokenizer,))}
        wrapped.__class__ = type("Cached", (type(tokenizer),), members)
        return wrapped

    for each in (cached(found), cached(copy.deepcopy(found)), copy.deepcopy(cached(found))):
        assert each.encode(SERVED) == expected
        assert each(SERVED)["input_ids"] == expected
        assert each.decode(expected) == SERVED
        assert each.max_token_id == 269
    assert pickle.loads(pickle.dumps(found)).encode(SERVED) == expected


def test_a_stream_of_tokenizers_takes_the_backend_of_fast(folder: Path) -> None:
    # As vLLM and `transformers serve` decode what a model answers; of a TypeError vLLM makes an empty text.
    found, theirs = fast(folder), tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = Tokenizer.load(folder).encode(SERVED)
    for skip in (False, True):
        texts = []
        for tokenizer in (found._tokenizer, theirs):
            stream = tokenizers.decoders.DecodeStream(ids=ids[:2], skip_special_tokens=skip)
            parts = [stream.step(tokenizer, token_id) for token_id in ids[2:-1]]
            texts.append([*parts, stream.step(tokenizer, ids[-1:])])
        assert texts[0] == texts[1]
    kept = found._tokenizer.current_stand_in()
    found._tokenizer.added_token_ids = {}
    assert found._tokenizer.current_stand_in() is kept
