"""Runs one job of one library in a separate process.

pairloom runs in this interpreter, its peers in a virtual environment. The function that is timed is in
peers/with_<library>.py, under the name of the job's task. `turns` runs several libraries in turn, forth and back
(A B C C B A), so that a change in the machine's speed affects all of them, and none always follows the same one, whose
memory it may get; it returns every result. Where first calls are timed, memory is made ready for each. pairloom itself
takes a turn on each tier of instructions, and one in another build of it where one is given (`own_calls`).
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from report.section import Setup

_PEERS = Path(__file__).parent / "peers"
ENVIRONMENT = Path(__file__).parent / ".venv-peers"
PINNED = {
    "gigatoken": "0.10.0",
    "gigabpe": "0.1.0",
    "tokenizers": "0.23.3",
    "rustbpe": "0.1.0",
    "bpeasy": "0.1.6",
    "ffbpe": "0.1.10",
    "tiktoken": "0.14.0",
    "sentencepiece": "0.2.3",
    "datasets": "5.2.0",
}
OLDER = "pairloom before"
"""The peer that is another build of pairloom."""
TIERS = {"avx512": "", "avx2": "avx512", "neon": "", "portable": "avx512,avx2,neon"}
"""What PAIRLOOM_DISABLE_CPU_FEATURES turns off for each tier."""
_BELOW = {"avx512": ["avx2", "portable"], "avx2": ["portable"], "neon": ["portable"], "portable": []}
Result = dict[str, Any]
Call = tuple[str, Mapping[str, Any]]
"""(peer, job)."""


def install() -> None:
    """Creates the peers' environment unless it exists with these versions."""
    wanted = [f"{name}=={version}" for name, version in PINNED.items()]
    mark = ENVIRONMENT / "pinned.txt"
    if mark.exists() and mark.read_text().split() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    subprocess.run([str(ENVIRONMENT / "bin/python"), "-m", "pip", "install", "--quiet", *wanted, "numpy"], check=True)
    mark.write_text("\n".join(wanted) + "\n")


def tiers() -> list[str]:
    """Returns the CPU tiers that the processor and the caller's environment allow, best first."""
    command = [sys.executable, "-c", "import pairloom; print(pairloom.cpu_tier())"]
    own = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return [own, *_BELOW[own]]


def own_name(setup: Setup, tier: str) -> str:
    """Returns pairloom's name in the tables on this tier; the best tier needs no name."""
    return "pairloom" if tier == setup.tiers[0] else f"pairloom, {tier}"


def own_calls(setup: Setup, job: Mapping[str, Any]) -> dict[str, Call]:
    """Returns the same pairloom job for each tier, and for another build if there is one."""
    calls: dict[str, Call] = {own_name(setup, tier): ("pairloom", {**job, "tier": tier}) for tier in setup.tiers}
    return calls | ({OLDER: (OLDER, job)} if setup.older else {})


def run(peer: str, job: Mapping[str, Any], older: str | None = None) -> Result:
    """Runs one job in a separate process; RuntimeError with the end of its stderr if it fails."""
    python = {"pairloom": sys.executable, OLDER: older}.get(peer) or str(ENVIRONMENT / "bin/python")
    # NumPy's OpenBLAS starts threads that spin for some 40 ms: the first call would share a processor with them.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if job.get("threads"):
        environment["RAYON_NUM_THREADS"] = str(job["threads"])
    if job.get("tier"):
        environment["PAIRLOOM_DISABLE_CPU_FEATURES"] = TIERS[job["tier"]]
    command = [python, str(_PEERS / f"with_{peer.split()[0]}.py")]
    text = json.dumps(dict(job))
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{peer} failed at {job['task']} ({done.returncode}):\n{done.stderr[-2000:]}")
    result: Result = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def turns(
    calls: Mapping[str, Call], setup: Setup, once: Collection[str] = (), *, first_calls: bool = False
) -> dict[str, list[Result]]:
    """Runs all calls in turn, every second time backwards; those named in `once` in the first turn alone. The results
    of each, by its name.

    first_calls: whether the first call of each process is timed: there are more turns then, and memory is ready.
    """
    results: dict[str, list[Result]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(setup.n_turns_of_first_calls if first_calls else setup.n_turns):
        for name in reversed(names) if turn % 2 else names:
            if turn == 0 or name not in once:
                peer, job = calls[name]
                results[name].append(run(peer, {**job, "ready_memory": first_calls}, setup.older))
        print(f"    turn {turn + 1} of {', '.join(calls)}", file=sys.stderr)
    return results


def median(results: list[Result], *keys: str | int) -> float:
    """Returns the median of one figure of several results; `keys` is the path to it."""
    values = []
    for result in results:
        value: Any = result
        for key in keys:
            value = value[key]
        values.append(float(value))
    return statistics.median(values)


def cold(results: list[Result]) -> float:
    """Returns the median of the first calls."""
    return median(results, "times", 0)


def warm(results: list[Result]) -> float:
    """Returns the median, over the turns, of the median call after the first."""
    return float(statistics.median(statistics.median(result["times"][1:]) for result in results))


def machine() -> dict[str, Any]:
    """Describes the machine of the measurement, without its host name."""
    facts: dict[str, str] = {}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            name, _, fact = line.partition(":")
            facts[name.strip()] = fact.strip()
    flags = facts.get("flags", "").split()
    name = facts.get("model name") or platform.processor() or platform.machine()
    # Virtual machines use one name for processors of many generations; family and model distinguish them.
    kind = f" (family {facts['cpu family']}, model {facts['model']})" if {"cpu family", "model"} <= facts.keys() else ""
    return {
        "cpu": name + kind,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "vectors": [flag for flag in ("avx512vbmi2", "avx512bw", "avx2") if flag in flags][:1],
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
