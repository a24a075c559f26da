"""CPU tiers (instruction sets): each gives the same results, and the environment variable disables them."""

import hashlib
import os
import subprocess
import sys

import pytest

import pairloom

_TIERS = ("avx512", "avx2", "portable")
_SCRIPT = """
import hashlib, random, sys
import pairloom
from pairloom import Tokenizer

draw = random.Random(5)
alphabet = ["a", "b", "the ", "é", "中文", "ก", " ", "\\n", "7", "'s", ".", "😀", "abcdefghijklmnop"]
texts = ["".join(draw.choices(alphabet, k=draw.randrange(400))) for _ in range(300)]
digest = hashlib.sha256()
for pattern in ("gpt2", "cl100k", "o200k", "deepseek"):
    tokenizer = Tokenizer.train(texts, 400, pattern=pattern)
    digest.update(repr(tokenizer.merges).encode())
    ids, offsets = tokenizer.encode_batch_to_numpy(texts)
    digest.update(ids.tobytes() + offsets.tobytes())
    assert tokenizer.decode_batch([ids[a:b] for a, b in zip(offsets[:-1], offsets[1:])]) == texts
print(pairloom.cpu_tier(), digest.hexdigest())
"""


def _run(disabled: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the script, or Python with these arguments."""
    environment = os.environ | {"PAIRLOOM_DISABLE_CPU_FEATURES": disabled}
    command = [sys.executable, *(arguments or ("-c", _SCRIPT))]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_every_tier_gives_the_same_merges_and_ids() -> None:
    best = _TIERS.index(pairloom.cpu_tier())
    digests = set()
    for number, tier in enumerate(_TIERS[best:], best):
        done = _run(",".join(_TIERS[:number]))
        assert done.returncode == 0, done.stderr
        name, digest = done.stdout.split()
        assert name == tier
        digests.add(digest)
    assert len(digests) == 1
    assert len(digests.pop()) == hashlib.sha256().digest_size * 2


@pytest.mark.parametrize("disabled", ["avx1024", "avx2,portable"])
def test_unknown_tier_names_are_refused_with_the_known_ones(disabled: str) -> None:
    done = _run(disabled)
    assert done.returncode != 0
    assert "PAIRLOOM_DISABLE_CPU_FEATURES contains" in done.stderr
    assert "allowed are avx512, avx2" in done.stderr


def test_the_command_names_its_tier_and_refuses_unknown_ones() -> None:
    version = ("-m", "pairloom", "--version")
    assert _run("avx512,avx2", *version).stdout == f"pairloom {pairloom.__version__} (portable)\n"
    refused = _run("sse9", *version)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("pairloom: PAIRLOOM_DISABLE_CPU_FEATURES contains")
    assert "Traceback" not in refused.stderr
