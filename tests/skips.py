"""Why tests may be skipped, and what runs them instead; printed after each run with skips.

With --strict-skips, which `make test` sets, a run that skips for any other reason fails.
"""

import re
from collections import Counter

JUSTIFIED: tuple[tuple[str, str, str], ...] = (
    ("takes minutes", "differential runs of many minutes", "make test-slow"),
    ("is not installed: make parity", "vocabularies in packages of hundreds of MB", "make parity"),
    ("(duckdb|nanoarrow|dask|distributed|datatrove|datasets) is not installed", "libraries of some 100 MB", "make ci"),
    ("import '(datasets|transformers)'|with transformers|extra .plot.", "libraries of some 100 MB", "make ci"),
    ("(ray|pyspark|java|moto|s3fs|aiohttp|flask) is not installed", "engines and a store of objects", "make engines"),
    ("(torch|torchdata|megatron-core|grain) is not installed", "wheels of some 100 MB", "make torch"),
    ("(webdataset|streaming|litdata) is not installed", "wheels of some 100 MB", "make torch"),
    ("packages? of prose", "100 MB of Debian's manuals in dozens of languages", "make parity"),
    ("CS336 fixtures|cs336 is not there|files of model gpt2 are", "files not ours to copy", "a copy beside the clone"),
    ("families is not there", "vocabularies not ours to copy", "a copy beside the clone"),
    ("documentation is not built", "the site's generator is no part of the tests", "make docs"),
    ("no browser for tests", "Chromium and playwright are 300 MB", "make browser"),
    ("node is not installed|rustc lacks", "needs node and wasm32", "rustup target add wasm32-unknown-unknown"),
    ("typescript is not installed", "a compiler of 60 MB for one test", "apt-get install node-typescript"),
    ("have no str without data", "CPython 3.12 removed what is tested", "make test with Python 3.11"),
    ("cannot fork|RLIMIT_AS is enforced|lacks glibc", "the system lacks what is tested", "make test on Linux"),
)
"""(regular expression of the reason, justification, what runs them)."""


def _row_of(reason: str) -> tuple[str, str, str] | None:
    return next((row for row in JUSTIFIED if re.search(row[0], reason)), None)


def table(reasons: Counter[str]) -> list[str]:
    """Returns the lines of the table of all skips, with one row for each justification."""
    numbers: Counter[tuple[str, str]] = Counter()
    for reason, number in reasons.items():
        row = _row_of(reason)
        numbers[(row[1], row[2]) if row else (f"NOT JUSTIFIED: {reason}", "make .venv/tools")] += number
    width = max((len(why) for why, _ in numbers), default=0)
    lines = [f"{number:6,}  {why.ljust(width)}  {runs}" for (why, runs), number in numbers.most_common()]
    return [f"{'tests':>6}  {'skipped because'.ljust(width)}  run by", *lines]


def unjustified(reasons: Counter[str]) -> list[str]:
    """Returns the reasons that are not in JUSTIFIED."""
    return sorted(reason for reason in reasons if _row_of(reason) is None)
