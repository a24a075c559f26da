"""Loading and saving tokenizers: folders, pipes, names, pickles, vocabularies that lack bytes."""

import base64
import json
import os
import pickle
import random
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from pairloom import MissingByteError, PatternError, SpecialTokenError, Tokenizer, formats
from pairloom.errors import FormatError
from pairloom.model import Model, canonical_json
from pairloom.patterns import GPT2
from pairloom.reference.encoder import encode_pretoken
from tests.cases import REFUSED
from tests.formats.models import reference_of
from tests.formats.test_tiktoken import tekken_file
from tests.soak.isolation import run_cases

TEXT = "the cat sat on the mat; naïve 東京<|endoftext|>the end"
TOKENIZER = Tokenizer.train([TEXT.replace("<|endoftext|>", "") * 3], 280, decode_errors="replace")


# Folders --------------------------------------------------------------------------------------------------------


def test_a_tokenizer_json_comes_before_the_older_pair_of_files(tmp_path: Path) -> None:
    other = Tokenizer.train([TEXT], 270, decode_errors="replace")
    with pytest.warns(UserWarning, match="the special tokens"):
        other.save(tmp_path, format="gpt2")
    assert Tokenizer.load(tmp_path, special_tokens=["<|endoftext|>"]) == other
    TOKENIZER.save(tmp_path / "tokenizer.json", format="huggingface")
    assert Tokenizer.load(tmp_path) == TOKENIZER
    assert Tokenizer.load(tmp_path, format="gpt2", special_tokens=["<|endoftext|>"]) == other
    with pytest.warns(UserWarning, match=r"also contains a tokenizer\.json, which is loaded first"):
        other.save(tmp_path, overwrite=True, format="gpt2")


@pytest.mark.parametrize("format", [None, "huggingface", "pairloom", "tiktoken", "tekken"])
def test_a_folder_without_a_tokenizer_says_what_was_looked_for(format: str | None, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"vocab\.json") as caught:
        Tokenizer.load(tmp_path, format=format)
    assert str(caught.value).startswith(f"{tmp_path}: ")


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    for format in ("pairloom", "huggingface"):
        TOKENIZER.save(tmp_path / format, format=format)
        data = (tmp_path / format).read_bytes()
        pipe = tmp_path / f"{format} pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        assert Tokenizer.load(pipe) == TOKENIZER
        writer.join()


# Names and formats of what is saved -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model.tiktoken", "model.TIKTOKEN"])
def test_the_suffix_tiktoken_is_that_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.warns(UserWarning, match=r"does not store the pattern, the special tokens.*pattern='gpt2'"):
        TOKENIZER.save(path)
    assert path.read_bytes().startswith(b"AA== 0\n")
    assert Tokenizer.load(path, pattern="gpt2", special_tokens=["<|endoftext|>"]) == TOKENIZER
    TOKENIZER.save(path, overwrite=True, format="pairloom")
    assert Tokenizer.load(path) == TOKENIZER


@pytest.mark.parametrize(("name", "words"), REFUSED["names"])
def test_a_name_of_another_format_is_refused(name: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(FormatError, match=f"{re.escape(name)}: this name is for {words}"):
        TOKENIZER.save(path)
    assert not path.exists()
    TOKENIZER.save(path, format="pairloom")
    assert Tokenizer.load(path) == TOKENIZER


# What a model can have beyond bytes, merges and GPT-2's pattern.
BYTES = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"ab", 257: b" ab"}
PLAIN = Model.from_tokens(BYTES, [(97, 98, 256), (32, 256, 257)], pattern=GPT2, decode_errors="replace")
TEMPLATE = canonical_json({"cls": ["<s>", 300], "sep": ["<s>", 300], "type": "BertProcessing"})
MODELS: dict[str, Model] = {
    "nothing": PLAIN,
    "special tokens": PLAIN.replaced(special_tokens={"<t>": 301, "<s>": 300}),
    "a special token with a space": PLAIN.replaced(special_tokens={"a é": 300}),
    "a special token like a letter of a byte": PLAIN.replaced(special_tokens={"Ġ": 300}),
    "a special token that merging makes": PLAIN.replaced(special_tokens={"ab": 256}),
    "a special token of a token's bytes": PLAIN.replaced(special_tokens={"ab": 300}),
    "special tokens of two kinds": PLAIN.replaced(
        special_tokens={"<s>": 300, "<t>": 301}, plain_specials=frozenset({"<s>"})
    ),
    "strict": PLAIN.replaced(decode_errors="strict"),
    "ignore": PLAIN.replaced(decode_errors="ignore"),
    "a pattern": PLAIN.replaced(pattern=r"\S+|\s+"),
    "patterns in turn": PLAIN.replaced(pattern=(r"\p{N}", GPT2)),
    "ranks": Model.from_tokens(
        {**BYTES, 258: b"xyz"}, rule="ranks", ignore_merges=True, pattern=GPT2, decode_errors="replace"
    ),
    "whole pretokens first": Model.from_tokens(
        {**BYTES, 258: b"xyz"}, PLAIN.merges, ignore_merges=True, pattern=GPT2, decode_errors="replace"
    ),
    "a post-processor": PLAIN.replaced(special_tokens={"<s>": 300}, post_processor=TEMPLATE),
    "ids with gaps": Model.from_tokens(
        {**BYTES, 400: b"abc"}, [*PLAIN.merges, (256, 99, 400)], pattern=GPT2, decode_errors="replace"
    ),
    "ids that descend": Model.from_tokens(
        {**BYTES, 256: b"abc", 257: b"ab"}, [(97, 98, 257), (257, 99, 256)], pattern=GPT2, decode_errors="replace"
    ),
    "a normalizer": PLAIN.replaced(normalizer=("nfc", "prefix_space")),
    "rules of special tokens": PLAIN.replaced(special_tokens={"<s>": 300}, special_rules=(("<s>", "lstrip"),)),
    "missing bytes": Model.from_tokens(
        {i: token for i, token in BYTES.items() if i != 200}, PLAIN.merges, pattern=GPT2, decode_errors="replace"
    ),
}


# What a refusal says, by the part of the model that the format cannot store.
REFUSALS = {
    "a post-processor": "without_post_processor()",
    "a normalizer": "cannot store the normalizer",
    "rules of special tokens": "cannot store the rule",
    "a pattern": "pattern",
    "patterns in turn": "pattern",
    "whole pretokens first": "whole",
    "a special token like a letter of a byte": "'Ġ'",
    "a special token of a token's bytes": "'ab'",
    "ids that descend": "must make ids in ascending order",
}


@pytest.mark.parametrize("what", MODELS)
@pytest.mark.parametrize("road", [*formats.WRITABLE, "to_huggingface", "to_tiktoken"])
def test_every_road_carries_a_thing_or_refuses_it_or_tells(road: str, what: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_model(MODELS[what])
    given: dict[str, Any] = {"missing_bytes": "raise"}
    if road == "tiktoken":
        given["pattern"] = tokenizer.pattern
    if road in formats.INCOMPLETE and tokenizer.special_tokens:
        given["special_tokens"] = tokenizer.special_tokens
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if road in formats.WRITABLE:
                tokenizer.save(tmp_path / "model", format=road)
                again = Tokenizer.load(tmp_path / "model", format=road, **given)
            else:
                library = road.removeprefix("to_")
                pytest.importorskip(library.replace("huggingface", "tokenizers"), reason="goes by way of it")
                back = {"huggingface": Tokenizer.from_huggingface, "tiktoken": Tokenizer.from_tiktoken}[library]
                again = back(getattr(tokenizer, road)(), missing_bytes="raise")
        except FormatError as error:
            assert road != "pairloom" and len(str(error)) > 40
            assert road == "tekken" or REFUSALS.get(what, "") in str(error)
            assert not (tmp_path / "model").exists()
            return
    # The warnings list exactly what the files do not store; nothing else is lost.
    told = " ".join(str(warning.message) for warning in caught)
    assert ("decode_errors" in told or "malformed" in told) == (again.decode_errors != tokenizer.decode_errors)
    assert ("HuggingFace does not treat ['<s>'] as special" in told) == (
        again.model.plain_specials != tokenizer.model.plain_specials
    )
    kept = again.model.replaced(decode_errors=tokenizer.decode_errors, plain_specials=tokenizer.model.plain_specials)
    # Looking up whole pretokens has two forms that encode alike; rank files can store only one.
    assert kept.canonical_form() == tokenizer.model.canonical_form()
    assert again.encode_ordinary("ab xyz 12") == tokenizer.encode_ordinary("ab xyz 12")


def test_a_native_file_loaded_as_tokenizer_json_names_the_remedy(tmp_path: Path) -> None:
    for saved in (TOKENIZER, TOKENIZER.add_special_tokens(["<s>"])):
        saved.save(tmp_path / "tokenizer.json", overwrite=True, format="pairloom")
        expected = r"tokenizer\.json: .*pairloom's own format.*Tokenizer\.load\(path\)"
        with pytest.raises(FormatError, match=expected):
            Tokenizer.from_huggingface(tmp_path)
        with pytest.raises(FormatError, match=expected):
            Tokenizer.load(tmp_path, format="huggingface")
        assert Tokenizer.load(tmp_path) == saved


@pytest.mark.parametrize("option", [{"special_tokens": []}, {"special_tokens": {"<e>": 400}}, {"pattern": "gpt2"}])
def test_a_file_that_says_what_an_argument_says_refuses_it(tmp_path: Path, option: dict[str, Any]) -> None:
    for format in ("pairloom", "huggingface"):
        TOKENIZER.save(tmp_path / format, format=format)
        (name,) = option
        with pytest.raises(ValueError, match=f"of format '{format}' contains its own {name}; leave out {name}="):
            Tokenizer.load(tmp_path / format, **option)


@pytest.mark.parametrize("format", ["gguf", "json", "", 3, ["pairloom"]])
def test_formats_that_are_none_are_refused(format: Any, tmp_path: Path) -> None:
    calls: list[Any] = [TOKENIZER.save, Tokenizer.load]
    for call in calls[:1] if format == "gguf" else calls:
        with pytest.raises(ValueError, match="format must be one of 'pairloom'"):
            call(tmp_path / "x", format=format)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_never_opened_and_the_remedy_named(protocol: int, tmp_path: Path) -> None:
    with pytest.warns(UserWarning):
        TOKENIZER.save(tmp_path / "model", format="gpt2")
    vocab, merges = tmp_path / "vocab.pkl", tmp_path / "merges.pkl"
    vocab.write_bytes(pickle.dumps(TOKENIZER.vocab, protocol))
    merges.write_bytes(pickle.dumps(TOKENIZER.merges, protocol))
    expected = r"pickle.*can run arbitrary code.*Tokenizer\(pickle\.load"
    with pytest.raises(FormatError, match=expected):
        Tokenizer.from_files(vocab, merges)
    with pytest.raises(FormatError, match=expected):
        Tokenizer.from_files(tmp_path / "model" / "vocab.json", merges)
    for format in (None, "tiktoken", "huggingface"):
        with pytest.raises(FormatError, match=expected):
            Tokenizer.load(vocab, format=format, pattern="gpt2" if format == "tiktoken" else None)


# Vocabularies that lack bytes -----------------------------------------------------------------------------------


@pytest.fixture
def lacking(tmp_path: Path) -> dict[str, Path]:
    """A vocabulary without the bytes 0x00 and 0x80 to 0xff, in every format."""
    tokens = {byte: bytes([byte]) for byte in range(1, 128)} | {200: b"ab"}
    tokenizer = Tokenizer(tokens, [(b"a", b"b")], missing_bytes="raise")
    paths = {}
    for format in set(formats.WRITABLE) - {"tekken"}:
        paths[format] = tmp_path / format
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokenizer.save(paths[format], format=format)
    file = tekken_file(default_vocab_size=10 + 128)
    paths["tekken"] = tmp_path / "tekken.json"
    paths["tekken"].write_text(json.dumps(file))
    return paths


@pytest.mark.parametrize("format", formats.WRITABLE)
@pytest.mark.filterwarnings("error")
def test_a_vocabulary_that_lacks_bytes_loads_with_a_warning(format: str, lacking: dict[str, Path]) -> None:
    options: dict[str, Any] = {"pattern": "gpt2"} if format == "tiktoken" else {}
    expected = "no token for 128 of the 256 bytes" if format == "tekken" else "no token for 129 of the 256 bytes"
    loaded = Tokenizer.load(lacking[format], missing_bytes="raise", **options)
    if format == "pairloom":
        # Saving has warned already.
        assert Tokenizer.load(lacking[format]) == loaded
    if format != "pairloom":
        with pytest.warns(UserWarning, match=rf'{expected} \((0x00, )?0x80-0xff\).*missing_bytes="drop"'):
            assert Tokenizer.load(lacking[format], **options) == loaded
    assert loaded.decode(loaded.encode("ab")) == "ab"
    with pytest.raises(MissingByteError, match="0xc3"):
        loaded.encode("\u00e9")


def test_bridges_pairs_and_the_constructor_warn_too(lacking: dict[str, Path]) -> None:
    loaded = Tokenizer.load(lacking["huggingface"], missing_bytes="raise")
    pair = (lacking["gpt2"] / "vocab.json", lacking["gpt2"] / "merges.txt")
    with pytest.warns(UserWarning, match=r"vocab\.json: .*no token for 129"):
        assert Tokenizer.from_files(*pair).encode("ab") == [200]
    with pytest.warns(UserWarning, match="no token for 129"):
        assert Tokenizer.from_huggingface(lacking["huggingface"]) == loaded
    with pytest.warns(UserWarning, match="no token for 129"):
        assert Tokenizer.from_tiktoken(loaded.to_tiktoken()) == loaded
    assert Tokenizer.from_huggingface(loaded.to_huggingface(), missing_bytes="raise") == loaded
    with pytest.warns(UserWarning, match=r"no token for 255 of the 256 bytes \(0x00-0x60, 0x62-0xff\)"):
        assert Tokenizer({0: b"a"}, []) == Tokenizer({0: b"a"}, [], missing_bytes="raise")


def test_missing_bytes_are_dropped_as_tokenizers_drops_them(tmp_path: Path) -> None:
    rng = random.Random(4)
    for _ in range(30):
        absent = set(rng.sample([*b"abc \n\x0b", 0xC3, 0xA9, 0xE6], rng.randrange(1, 4)))
        tokens = [bytes([byte]) for byte in range(256) if byte not in absent]
        merges = []
        common = [token for token in tokens if token in (b"a", b"b", b"c", b" ", b"\xc3", b"\xa9")]
        for _ in range(rng.randrange(12)):
            pair = (rng.choice(common), rng.choice(common))
            if pair[0] + pair[1] not in tokens:
                merges.append(pair)
                tokens.append(pair[0] + pair[1])
                common.append(pair[0] + pair[1])
        kept = Tokenizer(dict(enumerate(tokens)), merges, {"<s>": len(tokens)}, missing_bytes="raise")
        kept.save(tmp_path / "t.json", format="huggingface", overwrite=True)
        ours = Tokenizer.load(tmp_path / "t.json", missing_bytes="drop")
        theirs = kept.to_huggingface()
        texts = ["".join(rng.choices("aabbc  \n\x0b\u00e9\u6771", k=rng.randrange(120))) for _ in range(60)]
        texts += ["<s>\x0b<s>", "ab" * 900 + "c" * 90, ""]
        expected = [theirs.encode(text, add_special_tokens=False).ids for text in texts]
        assert ours.encode_batch(texts) == [ours.encode(text) for text in texts] == expected
        assert [list(ours.encode_iterable([text[:9], text[9:]])) for text in texts] == expected
        assert ours.count_tokens_batch(texts).tolist() == [len(ids) for ids in expected]
        # Dropout that skips hardly any merge, and all.
        assert [ours.encode(text, dropout=1e-12, seed=1) for text in texts] == expected
        for text, ids in zip(texts, expected, strict=True):
            data = ours.decode_bytes(ids)
            assert ours.decode_bytes(ours.encode(text, dropout=1, seed=1)) == data
        session = ours.session(texts[0])
        session.append(texts[1])
        assert session.ids.tolist() == ours.encode(texts[0] + texts[1])
        (tmp_path / "t.txt").write_text("".join(texts), encoding="utf-8", newline="")
        assert ours.encode_file(tmp_path / "t.txt").tolist() == ours.encode("".join(texts))
        ours.save(tmp_path / "native.json", overwrite=True)
        again = Tokenizer.load(tmp_path / "native.json")
        assert again == ours != kept and not ours.is_lossless
        assert Tokenizer.load(tmp_path / "native.json", missing_bytes="raise").normalizer == kept.normalizer
        ours.save(tmp_path / "t.json", format="huggingface", overwrite=True)
        assert Tokenizer.load(tmp_path / "t.json", missing_bytes="drop") == ours


def test_dropping_bytes_that_are_all_there_changes_nothing(tmp_path: Path) -> None:
    LEARNED.save(tmp_path / "t.json")
    assert Tokenizer.load(tmp_path / "t.json", missing_bytes="drop") == LEARNED
    with pytest.raises(FormatError, match="looks up whole pretokens"):
        Tokenizer.from_ranks({b"a": 0, b"b": 1, b"cc": 2}, "gpt2", missing_bytes="drop")
    with pytest.raises(ValueError, match="missing_bytes"):
        Tokenizer.load(tmp_path / "t.json", missing_bytes="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", [{"unk_token": "a"}, {"byte_fallback": True}])
def test_bytes_that_the_library_replaces_are_not_dropped(setting: dict[str, Any], tmp_path: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256) if byte != ord("x")]
    kept = Tokenizer(dict(enumerate(tokens)), [], missing_bytes="raise")
    file = json.loads(kept.to_huggingface().to_str())
    file["model"] |= setting
    (tmp_path / "t.json").write_text(json.dumps(file))
    with pytest.warns(UserWarning, match='missing_bytes="raise" if'):
        Tokenizer.load(tmp_path / "t.json")
    with pytest.raises(FormatError, match="not supported with unk_token or byte_fallback"):
        Tokenizer.load(tmp_path / "t.json", missing_bytes="drop")


def test_whispers_empty_token_is_left_out_and_keeps_its_id(tmp_path: Path) -> None:
    lines = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    (tmp_path / "w.tiktoken").write_bytes(lines + b"= 256\n")
    tokenizer = Tokenizer.load(tmp_path / "w.tiktoken", pattern="gpt2", special_tokens=["<|endoftext|>"])
    assert tokenizer.special_tokens == {"<|endoftext|>": 257}
    (tmp_path / "w.tiktoken").write_bytes(lines + b"== 256\n")
    with pytest.raises(FormatError, match="line 257"):
        Tokenizer.load(tmp_path / "w.tiktoken", pattern="gpt2")


LEARNED = Tokenizer.train("low lower lowest newer newest wider widest", 280)


@pytest.mark.parametrize(
    ("merges", "n_unused"),
    [
        (LEARNED.merges[:5], len(LEARNED.merges) - 5),
        (LEARNED.merges[3:], None),
        (LEARNED.merges[::-1], None),
        ([*LEARNED.merges[1:], LEARNED.merges[0]], None),
    ],
)
def test_merges_that_do_not_lead_to_all_tokens_warn(merges: Any, n_unused: int | None, tmp_path: Path) -> None:
    vocab, specials = LEARNED.vocab, LEARNED.special_tokens
    vocab[300] = "東".encode()[:2]  # no merge, and no text
    plain = {token_id: token for token_id, token in vocab.items() if token_id not in specials.values()}
    with pytest.warns(UserWarning, match="the order in which they were learned") as caught:
        tokenizer = Tokenizer(vocab, merges, specials)
    # The reference's ids for each token's own bytes, without a pattern.
    oracle = reference_of(tokenizer)
    n_expected = sum(encode_pretoken(token, oracle) != [token_id] for token_id, token in plain.items())
    assert n_unused is None or n_expected == n_unused + 1
    assert str(caught[0].message).startswith(f"{n_expected} of {len(plain)} tokens are never used")
    tokenizer.save(tmp_path / "pair", format="gpt2")
    with pytest.warns(UserWarning, match=rf"merges\.txt: {n_expected} of {len(plain)} tokens are never used"):
        Tokenizer.from_files(tmp_path / "pair/vocab.json", tmp_path / "pair/merges.txt", list(specials))


def test_ids_near_the_largest_take_little_memory_in_every_format(tmp_path: Path) -> None:
    far = 2**24 - 1
    vocab = {byte: bytes([byte]) for byte in range(256)} | {10_000_000: b"ab", far - 1: b"abab"}
    tokenizer = Tokenizer(vocab, [(b"a", b"b"), (b"ab", b"ab")], {"<s>": far})
    made = ["pairloom", "huggingface"]

    def case(number: int) -> bool:
        loaded = Tokenizer.load(tmp_path / made[number])
        ids = loaded.encode("ababab<s>c")
        return ids == [far - 1, 10_000_000, far, 99] and loaded.decode(ids) == "ababab<s>c"

    for format in made:
        tokenizer.save(tmp_path / format, format=format)
    for _, outcome in run_cases(case, len(made)):
        # Tables with an entry for every id would take 400 MB.
        assert outcome.result and outcome.n_bytes < 150 << 20, outcome


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(" * 20_000, r"20000 bytes in all"),
        ("a|" * 20_000 + "[", r"40001 bytes in all"),
        ("(a", ""),
        (("a", "b") * 1000, "one of 2000 patterns that split in turn; at most 32"),
    ],
)
def test_a_hostile_pattern_is_refused_in_a_short_message(pattern: Any, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    formats.save(TOKENIZER.model.replaced(pattern=pattern), path)
    with pytest.raises(PatternError, match=rf"^{path}: .*{expected}") as caught:
        Tokenizer.load(path)
    assert len(str(caught.value)) < 1000
    with pytest.raises(PatternError, match=r"^(pattern|one of) "):
        Tokenizer.from_model(TOKENIZER.model.replaced(pattern=pattern))


def test_a_long_special_token_is_quoted_in_part() -> None:
    long = TOKENIZER.add_special_tokens(["x" * 60_000])
    with pytest.raises(SpecialTokenError, match="60000 bytes in all") as caught:
        long.encode("x" * 60_000, allowed_special=(), disallowed_special="all")
    assert len(str(caught.value)) < 1000
    with pytest.raises(SpecialTokenError, match="60000 bytes in all") as caught:
        list(long.encode_iterable(["x" * 60_000], specials="error"))
    assert len(str(caught.value)) < 1000
