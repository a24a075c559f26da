"""One object used by several threads and by callbacks; the garbage collector knows lists of ids."""

import gc
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pairloom import Tokenizer, _core
from pairloom.corpus import Corpus

TOKENIZER = Tokenizer.train("ab ab ab", 258)
DOCUMENTS = _core.Documents.from_texts(["ab " * 2_000_000])
# Long enough for another thread to run meanwhile.
LONG = "ab cd " * 4_000_000


def counter(report: Any = None) -> _core.Counter:
    return _core.Counter(pattern="a+", special_tokens=[], split=False, threads=1, max_memory=None, report=report)


def calls_of(name: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """Returns a call of a new object that takes long, and another call of it."""
    if name == "StreamEncoder":
        stream = TOKENIZER._core.encode_stream("recognise")
        return lambda: stream.push(LONG), stream.finish
    if name == "BlockEncoder":
        encoder = TOKENIZER.block_encoder(threads=1)
        return lambda: encoder.push(DOCUMENTS), lambda: encoder.push(DOCUMENTS)
    if name == "Counter":
        counting = counter()
        return lambda: counting.count_texts([LONG]), counting.finish
    session = TOKENIZER.session()
    return lambda: session.append(LONG), lambda: len(session)


def test_a_tokenizer_made_without_the_lock_is_weakly_referenced(monkeypatch: pytest.MonkeyPatch) -> None:
    referred: list[object] = []

    def ref(of: object, make: Callable[[object], object] = weakref.ref) -> object:
        referred.append(of)
        return make(of)

    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    monkeypatch.setattr(weakref, "ref", ref)
    tokenizer = Tokenizer.from_model(TOKENIZER.model)
    assert any(of is tokenizer._core for of in referred)
    assert tokenizer.encode("ab ab") == TOKENIZER.encode("ab ab")


@pytest.mark.parametrize("name", ["StreamEncoder", "BlockEncoder", "Counter", "Session"])
def test_a_second_call_meanwhile_is_refused_in_words(name: str) -> None:
    refused: list[RuntimeError] = []

    def call(work: Callable[[], object]) -> None:
        # Either of the two calls can come second.
        try:
            work()
        except RuntimeError as error:
            refused.append(error)

    for _ in range(20):
        long_call, other_call = calls_of(name)
        thread = threading.Thread(target=call, args=(long_call,))
        thread.start()
        while thread.is_alive() and not refused:
            call(other_call)
        thread.join()
        if refused:
            assert f"this {name} is in use by another call; give each thread its own {name}" in str(refused[0])
            return
    pytest.fail("the two calls never met")


def test_a_callback_that_calls_back_is_refused_in_words() -> None:
    said: list[str] = []

    def report(*_: object) -> None:
        with pytest.raises(RuntimeError) as caught:
            counting.finish()
        said.append(str(caught.value))

    counting = counter(report)
    counting.count_texts(["aa"])
    assert said and all("this Counter is in use by another call" in words for words in said)
    assert len(counting.finish()) == 1


def test_lists_of_many_documents_are_known_to_the_collector() -> None:
    texts = ["ab ab", ""] * 2000
    lists = TOKENIZER.encode_batch(texts)
    assert gc.is_tracked(lists)
    tracked = {gc.is_tracked(ids) for ids in (*lists, TOKENIZER.encode("ab"))}
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        # Free-threaded Python does not track lists of ids: all threads would wait while the collector visits them.
        assert tracked == {False}
        return
    assert tracked == {True}

    # The collector finds a cycle through such a list.
    class Canary:
        dropped = False

        def __del__(self) -> None:
            Canary.dropped = True

    lists[0].append(lists[0])  # type: ignore[arg-type]
    lists[0].append(Canary())  # type: ignore[arg-type]
    del lists
    gc.collect()
    assert Canary.dropped


def test_many_threads_read_a_corpus_each_on_its_own() -> None:
    corpus = Corpus.of_texts(["ab", "cd"] * 100)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: sum(len(block.documents) for block in corpus.read()), range(4)))
    assert found == [200] * 4
