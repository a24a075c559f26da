"""Texts on which tokenizers disagree, without a network: a hostile set, and texts that come with every Python."""

import encodings
import json
import random
import sysconfig
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from tests.cases import INPUTS, TESTDATA

ALPHABETS: dict[str, str] = json.loads((TESTDATA / "alphabets.json").read_text(encoding="utf-8"))

HOSTILE: tuple[str, ...] = (
    *INPUTS["disagreed"],
    *("a" * 3000, "ab" * 1500, " " * 3000 + "x", "\n" * 1000 + " ", "0123456789" * 50),
)

TURNING = "aAbBsSdDtTlLvVrReEmMſ'’ \t\n\r\u00a0\u2003\u0085.,!/_-09５½²Ⅷéß漢あ한ǅʰ\u0301\u20e3😀\u200b\x1c"
"""Characters that matter to patterns."""


def random_texts(seed: int, n: int) -> Iterator[str]:
    """Short texts of characters that matter to patterns, and of every kind of code point."""
    rng = random.Random(seed)
    for _ in range(n):
        length = rng.randrange(1, 40)
        if rng.random() < 0.8:
            yield "".join(rng.choice(TURNING) for _ in range(length))
        else:
            yield "".join(map(chr, (_code_point(rng) for _ in range(length))))


def _code_point(rng: random.Random) -> int:
    while True:
        found = rng.randrange(0x20, 0x30000)
        # Versions of Unicode classify code points that were new in 15 or later differently.
        if not 0xD800 <= found < 0xE000 and unicodedata.category(chr(found)) != "Cn":
            return found


def library_files(n_bytes: int) -> Iterator[str]:
    """Files of Python's standard library, sources of all kinds, until `n_bytes` have been given."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    seen = 0
    preferred = sorted(Path(encodings.__path__[0]).glob("*.py"))
    for path in [*preferred, *sorted(folder.glob("*.py")), *sorted(folder.glob("*/*.py"))]:
        try:
            text = path.read_bytes().decode()
        except (UnicodeDecodeError, OSError):
            continue
        yield text
        seen += len(text)
        if seen > n_bytes:
            return


def languages(n_bytes: int, seed: int = 0) -> Iterator[str]:
    """Documents of about a kilobyte in sixteen alphabets, their words in random order, until `n_bytes`."""
    rng = random.Random(seed)
    seen = 0
    while seen < n_bytes:
        name = rng.choice(list(ALPHABETS))
        words = ALPHABETS[name].split(" ")
        text = " ".join(rng.choice(words) for _ in range(150))
        yield text
        seen += len(text.encode())
