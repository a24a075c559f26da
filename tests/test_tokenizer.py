"""The Tokenizer class: every call, and what it refuses."""

import copy
import gc
import pickle
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairloom
from pairloom import FormatError, Tokenizer, TrainingConfig, UnknownTokenIdError
from tests.cases import REFUSED
from tests.encoding_calls import streamed
from tests.soak.isolation import run_cases

AB = Tokenizer.train("ab ab ab", 258)
SAMPLE = "Hello, wörld! 東京 🙂 ab<|endoftext|>ab  \n\n\tthe end'll be 12345"


def trained(text: str = SAMPLE * 3, vocab_size: int = 300, **fields: Any) -> Tokenizer:
    return Tokenizer.train([text], vocab_size, corpus_specials="split", **fields)


def test_every_road_back_gives_the_text() -> None:
    tokenizer = trained()
    ids = tokenizer.encode(SAMPLE)
    for form in (ids, tuple(ids), iter(ids), np.array(ids, np.uint16), np.array(ids, np.int64), np.array(ids)[:]):
        assert tokenizer.decode(form) == SAMPLE
    doubled = np.repeat(np.array(ids, np.int32), 2)
    assert tokenizer.decode(doubled[::2]) == SAMPLE
    for kind in (np.uint16, np.uint32, np.int64):
        misaligned = np.frombuffer(b"\0" + np.array(ids, kind).tobytes(), kind, offset=1)
        assert tokenizer.decode(misaligned) == tokenizer.decode(misaligned[:]) == SAMPLE
    assert tokenizer.decode_bytes(ids) == SAMPLE.encode()
    assert tokenizer.decode_batch([ids, []]) == [SAMPLE, ""]
    assert streamed(tokenizer, ids) == SAMPLE
    assert tokenizer.decode([]) == ""


def test_a_stream_skips_the_special_tokens_that_decode_skips() -> None:
    tokenizer = AB.add_special_tokens({"<s>": 300, "<t>": 400})
    replaced = tokenizer.model.replaced(plain_specials=frozenset(["<t>"]), decode_errors="replace")
    tokenizer = Tokenizer.from_model(replaced)
    stream = tokenizer.decode_stream()
    assert [stream.push(byte) for byte in "é".encode()] == ["", "é"]
    # Also a special token inside a character.
    ids = [97, 300, 0xC3, 300, 0xA9, 400, 300]
    for skip, text in ((True, "aé<t>"), (False, "a<s>\ufffd<s>\ufffd<t><s>")):
        assert tokenizer.decode(ids, skip_special_tokens=skip) == text
        assert streamed(tokenizer, ids, skip_special_tokens=skip) == text
    with pytest.raises(UnknownTokenIdError):
        tokenizer.decode_stream(skip_special_tokens=True).push(9999)


@pytest.mark.parametrize(
    "decode",
    [
        AB.decode,
        lambda ids: AB.decode(ids, "strict"),
        lambda ids: AB.decode(np.array(ids)),
        lambda ids: AB.decode_batch([ids]),
        AB.decode_with_offsets,
        lambda ids: streamed(AB, ids),
    ],
)
def test_a_partial_character_decoded_strictly_names_the_remedies(decode: Callable[[list[int]], object]) -> None:
    for ids in ([97, 0xE6, 0x9D], [0x9D, 97]):
        with pytest.raises(UnicodeDecodeError) as caught:
            decode(ids)
        for remedy in ("decode_bytes", 'decode_errors="replace"', 'errors="replace"'):
            assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind"), [(None, "NoneType"), (b"ab", "bytes; decode"), (5, "int"), (["ab"], "list"), (True, "bool")]
)
def test_what_is_no_text_is_a_type_error_that_names_it(text: Any, kind: str) -> None:
    roads: list[Callable[[Any], object]] = [
        AB.encode,
        AB.encode_ordinary,
        AB.encode_to_numpy,
        AB.count_tokens,
        pairloom.pretokenize,
    ]
    roads.append(lambda text: list(AB.encode_iterable([text])))
    roads.append(lambda text: AB.encode(text, allowed_special=()))
    for road in roads:
        with pytest.raises(TypeError, match=rf"^(text|iterable\[0\]) must be a str, not {kind}"):
            road(text)


def test_a_bare_str_for_a_list_is_a_type_error() -> None:
    for road in (AB.encode_batch, AB.encode_batch_to_numpy, AB.count_tokens_batch, AB.encode_iterable):
        with pytest.raises(TypeError, match="iterable of str"):
            road("ab")


def test_constructor_takes_vocab_and_merges() -> None:
    vocab = {i: bytes([i]) for i in range(256)} | {300: b"ab"}
    tokenizer = Tokenizer(vocab, [(b"a", b"b")], ["<s>", "ab"])
    assert tokenizer.special_tokens == {"<s>": 301, "ab": 300}
    assert tokenizer.n_vocab == len(tokenizer) == 302
    assert tokenizer.decode_errors == "replace"
    assert tokenizer.decode([0x80]) == "\ufffd"
    assert tokenizer.config is None
    assert Tokenizer(tokenizer.vocab, tokenizer.merges, tokenizer.special_tokens) == tokenizer
    with pytest.raises(KeyError):
        tokenizer.decode([270])
    with pytest.raises(ValueError, match="lacks b'zz'"):
        Tokenizer(vocab, [(b"z", b"z")])
    with pytest.raises(TypeError):
        Tokenizer({0: "a"}, [])  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        Tokenizer({True: b"a"}, [])
    with pytest.raises(ValueError):
        Tokenizer({-1: b"a"}, [])


def test_what_it_says_of_itself() -> None:
    assert AB.n_vocab == 259
    assert AB.merges == [(b"a", b"b"), (b" ", b"ab")]
    assert AB.vocab[258] == b"<|endoftext|>"
    assert list(AB.vocab) == list(range(259))
    assert AB.token_to_id(b"ab") == 256
    assert AB.token_to_id("<|endoftext|>") == AB.token_to_id(b"<|endoftext|>") == 258
    assert AB.token_to_id("nothing") is None
    assert AB.id_to_token(257) == b" ab"
    with pytest.raises(KeyError):
        AB.id_to_token(5000)
    assert AB.config == TrainingConfig()
    assert AB.token_byte_lengths()[[0, 256, 257, 258]].tolist() == [1, 2, 3, 0]
    assert AB.token_byte_lengths(count_specials=True)[[0, 256, 257, 258]].tolist() == [1, 2, 3, 13]
    assert repr(AB).startswith("Tokenizer(n_vocab=259, pattern='gpt2'")


@pytest.mark.parametrize("dtype", [np.int64, np.uint16])
def test_bits_per_byte_leave_out_targets_without_bytes(dtype: Any) -> None:
    loss = np.array([[1.0, 3.0], [7.0, 100.0]])
    targets = np.array([[256, 257], [97, 258]], dtype)
    # 258 is a special token: 11 nats for 2 + 3 + 1 bytes.
    assert AB.bits_per_byte(loss, targets) == pytest.approx(11 / np.log(2) / 6)
    assert AB.bits_per_byte(loss.tolist(), targets.tolist()) == AB.bits_per_byte(loss, targets)
    ignored = targets.astype(np.int64)
    ignored[1, 0] = -100
    assert AB.bits_per_byte(loss, ignored) == pytest.approx(4 / np.log(2) / 5)


def test_equality_pickle_and_copies() -> None:
    again = Tokenizer.train("ab ab ab", 258)
    assert again == AB and hash(again) == hash(AB)
    assert Tokenizer.train("ab ab ab", 257) != AB
    assert AB != "AB"
    thawed = pickle.loads(pickle.dumps(AB))
    assert thawed == AB and thawed.config == AB.config
    assert copy.copy(AB) is AB and copy.deepcopy(AB) == AB
    with pytest.raises(AttributeError):
        AB.extra = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("specials", [None, 0, "", b"all", 0.0, False, "some"])
@pytest.mark.parametrize("allowed", ["all", ()])
def test_specials_that_are_no_list_are_a_type_error(specials: Any, allowed: Any) -> None:
    for call in (AB.encode, AB.encode_to_numpy, AB.count_tokens):
        with pytest.raises(TypeError, match="disallowed_special must be an iterable of str"):
            call("ab", allowed_special=allowed, disallowed_special=specials)


def test_arrays_of_literals_are_taken_as_lists_are() -> None:
    end = AB.special_tokens["<|endoftext|>"]
    assert AB.encode("ab<|endoftext|>", allowed_special=np.array(["<|endoftext|>", "b"])) == [256, end]
    assert AB.encode("ab<|endoftext|>", allowed_special=np.array(["all"])) == AB.encode_ordinary("ab<|endoftext|>")


def test_special_tokens_take_no_quadratic_work() -> None:
    vocab = {i: bytes([i]) for i in range(256)}

    def case(_: int) -> bool:
        long = Tokenizer(vocab, [], ["x" * 150_000, "x" * 149_999 + "y"])
        assert long.encode("x" * 150_000 + "y") == [256, 121] and long.encode("x" * 149_999 + "y") == [257]
        assert Tokenizer(vocab, [], ["x" * 3000, "x" * 2999 + "y"]).encode("x" * 2999) == [120] * 2999
        many = Tokenizer(vocab, [], [f"<|{number}|>" for number in range(100_000)])
        assert many.encode("<|99999|>a<|0|>") == [256 + 99_999, 97, 256]
        # Each of them is also a token that a merge makes.
        pairs = [(bytes([left]), bytes([right])) for left in range(100, 128) for right in range(33, 127)]
        made = vocab | {1000 + rank: left + right for rank, (left, right) in enumerate(pairs)}
        both = Tokenizer(made, pairs, [(left + right).decode() for left, right in pairs])
        assert both.encode("~~") == both.encode_ordinary("~~") == [1000 + len(pairs) - 95]
        return all(many.encode("x", allowed_special=(), disallowed_special="all") == [120] for _ in range(200))

    # A quadratic step anywhere would exceed this by itself; everything takes a second or two.
    [(_, outcome)] = run_cases(case, 1)
    assert outcome.result and outcome.seconds < 30, outcome


@pytest.mark.parametrize("profile", ["bpetite", "cs336", "huggingface"])
@pytest.mark.parametrize("specials_counted", [True, False])
@pytest.mark.parametrize("special_ids", ["last", "after_bytes", "first"])
def test_truncation_is_training_to_that_size_and_needs_a_config(
    profile: str, specials_counted: bool, special_ids: str, tmp_path: Path
) -> None:
    fields: dict[str, Any] = {"special_tokens": ["<s>", "<t>"], "specials_counted": specials_counted}
    fields["special_ids"] = special_ids
    big = Tokenizer.train([SAMPLE * 5], 320, profile, **fields)
    small = Tokenizer.train([SAMPLE * 5], 290, profile, **fields)
    moved = small.changes_from(big).moved.tolist()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert big.truncate_vocab(290) == small
    assert (special_ids == "last") == bool(moved)
    assert [str(warning.message).partition(",")[0] for warning in caught] == [f"{len(moved)} of the ids move"] * bool(
        moved
    )
    kept = big.truncate_vocab(290, keep_ids=True)
    assert (kept.merges, kept.special_tokens) == (small.merges, big.special_tokens)
    changes = kept.changes_from(big)
    assert [len(each) for each in changes] == [0, 0, len(big.merges) - len(small.merges)]
    assert pickle.loads(pickle.dumps(big)).truncate_vocab(290) == small
    assert copy.deepcopy(big).truncate_vocab(290) == small
    big.save(tmp_path / "model")
    assert Tokenizer.load(tmp_path / "model").truncate_vocab(290) == small
    lost = Tokenizer(big.vocab, big.merges, big.special_tokens, decode_errors=big.decode_errors)
    with pytest.raises(ValueError, match="specials_counted=True"):
        lost.truncate_vocab(290)
    assert lost.truncate_vocab(290, specials_counted=specials_counted) == small
    # Special tokens that were added later count like the others, as in extend and prune.
    more = big.add_special_tokens(["<later>"])
    size = 290 + specials_counted
    assert more.truncate_vocab(size).merges == small.merges
    assert more.truncate_vocab(size) == more.truncate_vocab(size, specials_counted=specials_counted)
    assert more.truncate_vocab(size).extend([SAMPLE], size) == more.truncate_vocab(size)
    plain = Tokenizer.train([SAMPLE * 5], 320, profile, special_tokens=[])
    plain.save(tmp_path / "plain")
    assert Tokenizer.load(tmp_path / "plain").truncate_vocab(290) == plain.truncate_vocab(290)


@pytest.mark.parametrize(("method", "arguments", "options", "error", "message"), REFUSED["methods"])
def test_wrong_arguments_of_methods_are_refused(
    method: str, arguments: list[Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        getattr(AB, method)(*arguments, **options)


def test_a_model_for_a_tokenizer_and_ranks_that_are_none_are_refused() -> None:
    wrong: Any = AB.model, [(b"a", 1)]
    with pytest.raises(TypeError, match="old must be a Tokenizer"):
        AB.changes_from(wrong[0])
    with pytest.raises(TypeError, match="mergeable_ranks must be a dict"):
        AB.from_ranks(wrong[1], "gpt2")
    with pytest.raises(FormatError, match="give each token its own rank"):
        AB.from_ranks({b"a": 0, b"b": 0}, "gpt2")


def test_ints_of_lists_outlive_their_lists_and_tokenizers() -> None:
    # References to them are not counted one by one: they are added in bulk in advance, or the ints are immortal.
    shared, far = 2000, 5_000_000
    tokenizer = trained().add_special_tokens({"<near>": shared, "<far>": far})
    text = (SAMPLE * 9 + "<near><far>") * 9
    ids = tokenizer.encode(text)
    assert tokenizer.encode_to_numpy(text).tolist() == ids
    assert ids.count(far) == 9
    shared = next(id for id in ids if id == shared)
    least = 2**60 if sys.version_info < (3, 12) else 2**29
    for _ in range(3):
        lists = tokenizer.encode_batch([text, "", text])
        assert lists == [ids, [], ids]
        del lists
        assert all(sys.getrefcount(id) > least for id in ids if id <= shared)
    # A list that is emptied item by item, and items that outlive everything else.
    expected, kept = list(map(str, ids)), [ids.pop() for _ in range(len(ids))]
    del tokenizer, ids
    gc.collect()
    assert list(map(str, reversed(kept))) == expected
    # An int too large for the table is reference-counted as usual.
    assert sys.getrefcount(next(id for id in kept if id == far)) < 100


def test_ints_of_lists_are_ints_like_any_other() -> None:
    # Python does not create them one by one.
    tokenizer = trained()
    ids = tokenizer.encode("".join(map(chr, range(128))) + SAMPLE)
    assert min(ids) == 0
    assert max(ids) > 256
    for id in set(ids):
        own = int(str(id))
        assert type(id) is int
        assert (id, hash(id), repr(id), id + 1, -id, id << 40) == (own, hash(own), repr(own), own + 1, -own, own << 40)
        assert (id.bit_length(), id.__sizeof__(), {id: 1}[own]) == (own.bit_length(), own.__sizeof__(), 1)
    assert pickle.loads(pickle.dumps(ids)) == ids
    assert copy.deepcopy(ids) == ids
    assert bytearray(id for id in ids if id < 256)
    # The results are ordinary lists: they grow, shrink and can be sorted.
    ids.extend(range(1000))
    del ids[:500]
    ids.sort()
    ids.insert(0, -1)
    assert ids[0] == -1
    assert sys.getsizeof(tokenizer.encode("ab")) >= sys.getsizeof([]) + 8
    assert sys.getsizeof(tokenizer.encode("")) == sys.getsizeof([])


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.long
def test_memory_of_freed_arrays_serves_others(wide: bool, tmp_path: Path) -> None:
    tokenizer = trained()
    if wide:
        tokenizer = Tokenizer(tokenizer.vocab, tokenizer.merges, {"<|far|>": 100_000})
    assert tokenizer.id_dtype == (np.uint32 if wide else np.uint16)
    source = random.Random(7)
    texts = [source.choice(["ab ", "the end ", "12345 ", "wörld "]) * n for n in (900_000, 1_500_000, 3_000_000)]
    expected = [np.array(tokenizer.encode(text), tokenizer.id_dtype) for text in texts]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    roads: list[Callable[[int], Any]] = [
        lambda number: tokenizer.encode_to_numpy(texts[number]),
        lambda number: tokenizer.encode_file(tmp_path / f"{number}.txt", threads=1),
        lambda number: tokenizer.encode_file(tmp_path / f"{number}.txt", threads=2),
        lambda number: tokenizer.encode_batch_to_numpy([texts[number]], threads=1)[0],
        lambda number: tokenizer.encode_batch_to_numpy([texts[number]], threads=2)[0],
    ]
    alive: list[tuple[int, Any]] = []
    for _ in range(30):
        number = source.randrange(len(texts))
        alive.append((number, source.choice(roads)(number)))
        if len(alive) > source.randrange(4):
            number, array = alive.pop(source.randrange(len(alive)))
            assert np.array_equal(array, expected[number])
            # An array can be written to without changing any other array.
            array[:] = 0
            del array
    for number, array in alive:
        assert np.array_equal(array, expected[number])


def test_ctrl_c_stops_training_and_encoding(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(
        """
import signal, sys, time
from pairloom import Tokenizer
tokenizer = Tokenizer.train("ab ab ab", 258)
texts = ["%x " % (i * 7919) * 40 for i in range(400_000)]
signal.signal(signal.SIGALRM, signal.default_int_handler)
long = "".join(texts * 4)
for work in (
    lambda: Tokenizer.train(texts * 20, 5000),
    lambda: [tokenizer.encode_batch(texts * 4) for _ in range(99)],
    # One call takes seconds, and gives way within it.
    lambda: [tokenizer.encode_to_numpy(long) for _ in range(99)],
    lambda: [tokenizer.count_tokens(long) for _ in range(99)],
):
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        work()
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted")
print(tokenizer.encode("ab"))
"""
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\n" * 4 + "[256]\n", done.stderr


@pytest.mark.parametrize("vocab_size", [300, 70_000])
def test_ids_of_a_call_stay_as_they_are_after_later_calls(vocab_size: int) -> None:
    # A thread reuses one vector for the ids of its calls; the vector of a long text is not kept.
    filler = [f"<|{number}|>" for number in range(vocab_size)] if vocab_size > 1 << 16 else []
    tokenizer = AB.add_special_tokens(filler) if filler else AB
    texts = ["ab" * n + "a" for n in (0, 1, 7, 5_000, 20_000, 33_000, 70_000, 200_000, 3, 0)]
    expected = [[256] * (len(text) // 2) + [97] for text in texts]
    arrays = [tokenizer.encode_to_numpy(text) for text in texts]
    lists = [tokenizer.encode(text) for text in texts]
    arrays[3][:] = 0
    assert tokenizer.encode_to_numpy(texts[3]).tolist() == expected[3]
    assert lists == expected
    assert [array.tolist() for array in arrays[:3] + arrays[4:]] == expected[:3] + expected[4:]


def test_a_signal_handler_may_encode_while_a_call_encodes() -> None:
    within: list[tuple[int, list[int]]] = []

    def encode_within(*_: object) -> None:
        n_pairs = len(within) % 9
        within.append((n_pairs, AB.encode("ab" * n_pairs)))

    uncached = AB.with_cache_bytes(0)
    text, n_met = "7 ab " * 200_000, 0
    before = signal.signal(signal.SIGALRM, encode_within)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while n_met < 4 and len(text) < 1 << 29:
            # A handler can run just before the core has the text, and one after. Calls check for signals every 0.1 s.
            text *= 2
            n_before = len(within)
            ids = uncached.encode(text)
            n_met = len(within) - n_before
            assert ids == [55, 257, 32] * (len(text) // 5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert n_met >= 4
    assert all(ids == [256] * n_pairs for n_pairs, ids in within)


@pytest.mark.parametrize("cache_bytes", [0, 1, 1 << 12, 1 << 40])
def test_the_cache_changes_no_ids(cache_bytes: int) -> None:
    text = "abab ab b aab<|endoftext|> " * 300 + "".join(map(chr, range(0x61, 0x3061)))
    bounded = AB.with_cache_bytes(cache_bytes)
    assert bounded == AB
    assert bounded.encode(text) == bounded.encode(text) == AB.encode(text)
    # Workers get pickles.
    copied = pickle.loads(pickle.dumps(bounded))
    assert (copied, copied._cache_bytes) == (AB, cache_bytes)
    assert pickle.loads(pickle.dumps(AB))._cache_bytes is None


@pytest.mark.parametrize("alphabet", ["ab", "ab é", "abé 東", "abé 東😀"])
def test_long_texts_come_back_in_every_width(alphabet: str) -> None:
    # Above a megabyte the core joins the str, not Python; from 8 MiB on, bytes are written to huge pages.
    for n in (1_500_000, 9 << 20):
        text = "".join(random.Random(1).choices(alphabet, k=99_991)) * (n // 99_991)
        ids = AB.encode_to_numpy(text)
        decoded = AB.decode(ids)
        assert decoded == text and sys.getsizeof(decoded) == sys.getsizeof(text)
        assert AB.decode_bytes(ids) == text.encode()
    cut_off = [97] * 1_500_000 + [0xE6]
    assert AB.decode(cut_off, errors="replace") == "a" * 1_500_000 + "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        AB.decode(cut_off, errors="strict")


@pytest.mark.parametrize("path", [3, None, b"a.txt", ["a.txt"]])
def test_what_is_no_path_is_a_type_error_in_words_of_ours(path: Any) -> None:
    calls: dict[str, Callable[[], object]] = {
        "path": lambda: AB.encode_file(path),
        "vocab_filepath": lambda: Tokenizer.from_files(path, "merges.txt"),
        "merges_filepath": lambda: Tokenizer.from_files("vocab.json", path),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"^{name} must be a str or os.PathLike, not {type(path).__name__}"):
            call()
