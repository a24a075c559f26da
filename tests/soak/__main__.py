"""Runs soak harnesses and prints their tables; exit status 1 when a case failed."""

import argparse
import sys
import time
from pathlib import Path

from tests.soak import identity
from tests.soak.harness import HARNESSES, Table, load

_MAX_SHOWN = 20


def main() -> int:
    """Runs the harnesses named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(HARNESSES)}; all by default")
    parser.add_argument("--count", type=int, help="the number of cases; by default that of a full run")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the cases (default 0)")
    parser.add_argument("--total", type=Path, metavar="FILE", help="identity: keeps a running total of all runs here")
    args = parser.parse_args()
    identity.total_file = args.total
    unknown = sorted(set(args.names) - set(HARNESSES))
    if unknown:
        parser.error(f"no harness is named {', '.join(unknown)}; there are {', '.join(HARNESSES)}")
    n_failures = 0
    for name in args.names or HARNESSES:
        harness = load(name)
        count = harness.FULL if args.count is None else args.count
        print(f"{name}: {harness.SUMMARY}\n")
        started = time.perf_counter()
        table = Table(harness.run(count, args.seed))
        seconds = time.perf_counter() - started
        print(table.text())
        for failure in table.failures[:_MAX_SHOWN]:
            print(f"FAILED {failure}")
        print(f"\n{name}: {count:,} cases, seed {args.seed}, {len(table.failures):,} failed, {seconds:.0f} s\n")
        sys.stdout.flush()
        n_failures += len(table.failures)
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
