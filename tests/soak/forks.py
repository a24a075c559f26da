"""fork() while other threads encode, decode and count: the child's results are equal.

Each case forks at a random moment of the work of two busy threads. The child encodes, decodes and counts, on one thread
and on several, and compares with what the parent computed before. A child that hangs is killed.
"""

import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pairloom import Tokenizer
from tests.soak.harness import Result
from tests.soak.isolation import run_cases

SUMMARY = "a process forks while threads of it work; a failure is a child that hangs, dies or gives other results"
QUICK = 10
FULL = 200

_CHILD_SECONDS = 60
_OUTCOMES = {0: "equal", 3: "other results"}


def run(count: int, seed: int) -> Iterator[Result]:
    """Forks `count` times in a process of its own."""
    chance = random.Random(seed)
    texts = ["".join(chance.choices("ab cdé東😀\n", k=chance.randrange(1, 400))) for _ in range(3000)]
    tokenizer = Tokenizer.train(texts[:500], 400)
    expected = tokenizer.encode_batch(texts)
    calls: dict[str, Callable[[], object]] = {
        "encode_batch": lambda: tokenizer.encode_batch(texts),
        "encode_batch_to_numpy": lambda: tokenizer.encode_batch_to_numpy(texts),
        "count_tokens_batch": lambda: tokenizer.count_tokens_batch(texts),
        "decode_batch": lambda: tokenizer.decode_batch(expected),
        "train": lambda: Tokenizer.train(texts[:100], 300),
    }

    def case(number: int) -> str:
        # Newer Pythons warn of what is done here on purpose.
        warnings.simplefilter("ignore", DeprecationWarning)
        stop = threading.Event()
        work = list(calls.values())[number % len(calls)]
        threads = [threading.Thread(target=_repeat, args=(work, stop)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(random.Random(f"{seed} {number}").uniform(0.001, 0.05))
        child = os.fork()
        if child == 0:
            signal.alarm(_CHILD_SECONDS)
            os._exit(0 if _is_equal(tokenizer, texts, expected) else 3)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stop.set()
        for thread in threads:
            thread.join()
        return _OUTCOMES.get(status, f"hung or died with {status}")

    for number, outcome in run_cases(case, count, timeout=2 * _CHILD_SECONDS):
        what = outcome.result or f"the parent: {outcome.death}"
        failure = "" if what == "equal" else f"{number} of seed {seed}: {what}"
        yield Result(list(calls)[number % len(calls)], {"forks": 1}, failure)


def _repeat(work: Callable[[], Any], stop: threading.Event) -> None:
    while not stop.is_set():
        work()


def _is_equal(tokenizer: Tokenizer, texts: Sequence[str], expected: list[list[int]]) -> bool:
    try:
        return (
            [tokenizer.encode(text) for text in texts[:200]] == expected[:200]
            and tokenizer.encode_batch(texts[:1000]) == expected[:1000]
            and tokenizer.encode_batch(texts[:1000], threads=3) == expected[:1000]
            and tokenizer.count_tokens_batch(texts).tolist() == [len(ids) for ids in expected]
            and tokenizer.decode_batch(expected[:1000]) == list(texts[:1000])
        )
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        return False
