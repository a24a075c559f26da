"""Sessions: a growing text has the ids of the whole text. Ids that encoding never produces, and those of their text."""

import copy
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import Tokenizer
from pairloom.reference.sessions import Session as Oracle
from pairloom.reference.sessions import canonicalize
from pairloom.sessions import Change
from tests.formats.models import trained

FAMILIES = Path(__file__).parents[2] / "shared/families"
FILES = ("gpt-2", "llama-spm", "qwen2", "deepseek-coder", "command-r", "gemma-4")
PIECES = ["the cat", " s", "at on 12", "34 <|endo", "ftext|>", "\n\n", "<|im_start|>us", "er\n", "e", "\u0301"]
PIECES += [" " * 40, "a" * 3000]


TOKENIZER = Tokenizer.train("the cat sat on the mat, the cats ate " * 9, 300, special_tokens=["<|endoftext|>", "<s>"])


def test_session_of_a_growing_text_says_what_changed() -> None:
    session = TOKENIZER.session("the ca")
    change = session.append("ts")
    assert isinstance(change, Change)
    assert (
        session.ids.tolist()
        == TOKENIZER.encode("the cats")
        == TOKENIZER.encode("the ca")[: change.keep] + change.ids.tolist()
    )
    assert (len(session), session.text, session.n_chars) == (len(session.ids), "the cats", 8)
    assert session.ids.dtype == change.ids.dtype == TOKENIZER.id_dtype
    keep, ids = session.append("")
    assert (keep, ids.tolist()) == (len(session), [])
    keep, ids = session.truncate(6)
    assert session.ids.tolist() == TOKENIZER.encode("the ca") and keep + len(ids) == len(session)
    assert repr(session) == f"Session(n_chars=6, n_ids={len(session)})"


def test_arguments_that_are_wrong_are_errors_by_name() -> None:
    session = TOKENIZER.session("the cat")
    wrong: Any = b"x"
    for call in (lambda: session.append(wrong), lambda: session.truncate(True), lambda: TOKENIZER.session(wrong)):
        with pytest.raises(TypeError):
            call()
    for n_chars in (8, -1, 2**70):
        with pytest.raises(ValueError):
            session.truncate(n_chars)
    with pytest.raises(UnicodeEncodeError):
        session.append("\ud800")
    assert (session.text, session.n_chars) == ("the cat", 7)


def test_forks_share_and_do_not_change_each_other() -> None:
    session = TOKENIZER.session("the cat sat, " * 400)
    forks = [session.fork(), copy.copy(session), copy.deepcopy(session)]
    for number, fork in enumerate(forks):
        fork.truncate(fork.n_chars - number * 1000)
        fork.append(f"mat {number}")
    assert session.text == "the cat sat, " * 400
    for each in (session, *forks):
        assert each.ids.tolist() == TOKENIZER.encode(each.text)


def test_a_thousand_forks_of_a_megabyte_share_memory() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    session = TOKENIZER.session("the cat sat on the mat, " * 42_000)
    before = resident()
    forks = [session.fork() for _ in range(1000)]
    for number, fork in enumerate(forks):
        fork.append(f" and {number}")
    assert resident() - before < 64 << 20
    assert forks[-1].n_chars == session.n_chars + len(" and 999")


def test_sessions_of_many_threads_have_the_ids_of_encode() -> None:
    with ThreadPoolExecutor(4) as pool:
        sessions = list(pool.map(lambda n: TOKENIZER.session("the cat " * n), range(100)))
    assert [len(each) for each in sessions] == [TOKENIZER.count_tokens("the cat " * n) for n in range(100)]


@pytest.mark.parametrize("letters", ["a", "ab", "=", "中", " ", "\n"])
def test_endless_pretoken_is_cut_between_tokens_that_stay(letters: str) -> None:
    merges = [(97, 97), (256, 256), (98, 97), (257, 97), (258, 258), (61, 61), (32, 32), (0xE4, 0xB8), (263, 0xAD)]
    tokenizer = Tokenizer.from_model(trained(merges))
    session, oracle = tokenizer.session(), Oracle(tokenizer.encode)
    for size in (1, 700, 3, 5000, 2, 256, 256, 256, 1, 9000, 1, 1):
        keep, ids = session.append(letters * size)
        assert (keep, ids.tolist()) == oracle.append(letters * size)
    assert session.ids.tolist() == oracle.ids
    # Ids that did not change were not encoded again: only the end of the pretoken was.
    assert keep > len(session) - 300
    for n_chars in (session.n_chars - 1, 9000, 17):
        session.truncate(n_chars)
        assert session.ids.tolist() == tokenizer.encode(session.text)


def test_letter_that_turns_all_merges_over_takes_chunks_back() -> None:
    # In a chain of letters the last pair merges first, so the number of letters decides which pairs merge.
    letters = [chr(0x4E00 + number) for number in range(700)]
    merges: list[tuple[bytes, bytes]] = []
    for encoded in map(str.encode, letters):
        merges += [(encoded[:1], encoded[1:2]), (encoded[:2], encoded[2:])]
    merges += [(left.encode(), right.encode()) for left, right in reversed([*pairwise(letters)])]
    merges = list(dict.fromkeys(merges))
    vocab = dict(enumerate([*(bytes((byte,)) for byte in range(256)), *(left + right for left, right in merges)]))
    for pattern in ("gpt2", "o200k"):
        tokenizer = Tokenizer(vocab, merges, pattern=pattern)
        session, oracle = tokenizer.session("".join(letters[:600])), Oracle(tokenizer.encode, "".join(letters[:600]))
        for letter in letters[600:]:
            keep, ids = session.append(letter)
            assert (keep, ids.tolist()) == oracle.append(letter)
        assert len(session) == 350 and keep == 0


MERGES = [(97, 97), (256, 97), (116, 104), (258, 101), (0xC3, 0xA9)]
MERGING = Tokenizer.from_model(trained(MERGES, decode_errors="replace").replaced(special_tokens={"<s>": 900}))


@pytest.mark.parametrize("normalizer", [None, "nfc", "prefix_space"])
def test_random_ids_are_made_canonical_as_the_definition_says(normalizer: str | None) -> None:
    tokenizer, rng = MERGING.with_normalizer(normalizer), random.Random(1)
    for _ in range(2000):
        ids = [rng.choice([*b"aathe<s> ", 256, 257, 258, 259, 260, 900]) for _ in range(rng.randrange(12))]
        expected = canonicalize(ids, tokenizer.encode, tokenizer.decode)
        assert tokenizer.canonicalize(ids) == expected
        assert tokenizer.is_canonical(ids) is (expected[1] is None)
        assert tokenizer.canonicalize(np.array(ids, np.uint32)) == tokenizer.canonicalize(iter(ids)) == expected
        if normalizer is None:
            assert tokenizer.is_canonical(expected[0])


def test_ids_of_a_part_of_a_character_are_not_canonical() -> None:
    assert not MERGING.is_canonical([0xC3])
    with pytest.raises(UnicodeDecodeError, match="inside a character"):
        MERGING.canonicalize([97, 0xC3])
    assert MERGING.canonicalize([0xC3, 0xA9]) == ([260], 0)
    assert MERGING.canonicalize([98, 97, 97]) == ([98, 256], 1)
    with pytest.raises(KeyError):
        MERGING.is_canonical([5000])
