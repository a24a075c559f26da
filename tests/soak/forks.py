"""fork() while other threads encode, decode and count: the child gives equal results, its collector is as it was set.

Each case forks at a random moment of the work of two busy threads. The child encodes, decodes and counts, on one thread
and on several, and compares with what the parent computed before. It also compares whether the garbage collector is
enabled with what the parent has set, which every other group of cases disables; so does the parent afterwards. A child
that hangs is killed.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pairloom import Tokenizer
from tests.soak.harness import Table

SUMMARY = (
    "a process forks while threads of it work; the child must give equal results and have the collector as it was set"
)
QUICK = 10
FULL = 200

_CHILD_SECONDS = 60
_OUTCOMES = {0: "equal", 3: "other results", 4: "collector changed"}


def run(count: int, seed: int) -> Table:
    """Forks `count` times in a process of its own."""
    command = [sys.executable, "-m", "tests.soak.forks", str(count), str(seed)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600 + 10 * count, check=False)
    table = Table(
        ("call of the busy threads", "forks", *_OUTCOMES.values(), "hung or died", "parent's collector changed")
    )
    if done.returncode != 0:
        table.failures.append(f"the parent ended with {done.returncode}: {done.stderr[-500:]}")
        return table
    tallies: dict[str, Counter[str]] = {}
    for number, (call, child, parent_changed) in enumerate(json.loads(done.stdout)):
        outcome = _OUTCOMES.get(child, "hung or died")
        tally = tallies.setdefault(call, Counter())
        tally[outcome] += 1
        tally["parent"] += parent_changed
        if outcome != "equal" or parent_changed:
            table.failures.append(f"fork {number} of seed {seed} during {call}: {outcome} (exit status {child})")
    for call, tally in tallies.items():
        cells = [tally[outcome] for outcome in (*_OUTCOMES.values(), "hung or died")]
        table.add(call, sum(cells), *cells, tally["parent"])
    return table


def _main(count: int, seed: int) -> list[tuple[str, int, bool]]:
    """(call of the busy threads, exit status of the child, whether the parent's collector changed) of each fork."""
    # Newer Pythons warn of what is done here on purpose.
    warnings.simplefilter("ignore", DeprecationWarning)
    chance = random.Random(seed)
    texts = ["".join(chance.choices("ab cdé東😀\n", k=chance.randrange(1, 400))) for _ in range(3000)]
    tokenizer = Tokenizer.train(texts[:500], 400)
    calls: dict[str, Callable[[], object]] = {
        "encode_batch": lambda: tokenizer.encode_batch(texts),
        "encode_batch_to_numpy": lambda: tokenizer.encode_batch_to_numpy(texts),
        "count_tokens_batch": lambda: tokenizer.count_tokens_batch(texts),
        "decode_batch": lambda: tokenizer.decode_batch(expected),
        "train": lambda: Tokenizer.train(texts[:100], 300),
    }
    expected = tokenizer.encode_batch(texts)
    found: list[tuple[str, int, bool]] = []
    for number in range(count):
        name = list(calls)[number % len(calls)]
        enabled = number // len(calls) % 2 == 0
        (gc.disable if enabled else gc.enable)()
        stop = threading.Event()
        threads = [threading.Thread(target=_repeat, args=(calls[name], stop)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.001, 0.05))
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
        found.append((name, status, gc.isenabled() != enabled))
    return found


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


if __name__ == "__main__":
    json.dump(_main(int(sys.argv[1]), int(sys.argv[2])), sys.stdout)
