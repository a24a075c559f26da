"""fork() while other threads encode, decode and count: the child gives equal results, its collector is as it was set.

Each case forks at a random moment of the work of two busy threads. The child encodes, decodes and counts, on one thread
and on several, and compares with what the parent computed before. It also compares whether the garbage collector is
enabled with what the parent has set, which every other group of cases disables; so does the parent afterwards. A child
that hangs is killed.
"""

import gc
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

SUMMARY = (
    "a process forks while threads of it work; the child must give equal results and have the collector as it was set"
)
QUICK = 10
FULL = 200

_CHILD_SECONDS = 60
_OUTCOMES = {0: "equal", 3: "other results", 4: "collector changed"}


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
        enabled = number // len(calls) % 2 == 0
        (gc.disable if enabled else gc.enable)()
        stop = threading.Event()
        work = list(calls.values())[number % len(calls)]
        threads = [threading.Thread(target=_repeat, args=(work, stop)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(random.Random(f"{seed} {number}").uniform(0.001, 0.05))
        # Set while the others work: what they do must not undo it.
        (gc.enable if enabled else gc.disable)()
        child = os.fork()
        if child == 0:
            signal.alarm(_CHILD_SECONDS)
            os._exit(_in_child(tokenizer, texts, expected, enabled))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stop.set()
        for thread in threads:
            thread.join()
        if gc.isenabled() != enabled:
            return "parent's collector changed"
        return _OUTCOMES.get(status, f"hung or died with {status}")

    for number, outcome in run_cases(case, count, timeout=2 * _CHILD_SECONDS):
        what = outcome.result or f"the parent: {outcome.death}"
        yield Result(
            list(calls)[number % len(calls)],
            {"forks": 1},
            "" if what == "equal" else f"{number} of seed {seed}: {what}",
        )


def _repeat(work: Callable[[], Any], stop: threading.Event) -> None:
    while not stop.is_set():
        work()


def _in_child(tokenizer: Tokenizer, texts: Sequence[str], expected: list[list[int]], enabled: bool) -> int:
    """The exit status: a key of _OUTCOMES."""
    if gc.isenabled() != enabled:
        return 4
    try:
        same = (
            [tokenizer.encode(text) for text in texts[:200]] == expected[:200]
            and tokenizer.encode_batch(texts[:1000]) == expected[:1000]
            and tokenizer.encode_batch(texts[:1000], threads=3) == expected[:1000]
            and tokenizer.count_tokens_batch(texts).tolist() == [len(ids) for ids in expected]
            and tokenizer.decode_batch(expected[:1000]) == list(texts[:1000])
        )
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        return 3
    if not same:
        return 3
    return 0 if gc.isenabled() == enabled else 4
