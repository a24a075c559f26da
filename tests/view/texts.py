"""Texts of all scripts, with everything that a page could lose: white space, invisible characters, joiners, marks."""

import random
import unicodedata

_STARTS = (
    0x41, 0xC0, 0x391, 0x410, 0x531, 0x5D0, 0x621, 0x710, 0x780, 0x7CA, 0x904, 0x985, 0xA05, 0xA85, 0xB05, 0xB85,
    0xC05, 0xC85, 0xD05, 0xD85, 0xE01, 0xE81, 0xF40, 0x1000, 0x10A0, 0x1100, 0x1200, 0x13A0, 0x1401, 0x16A0, 0x1780,
    0x1820, 0x1B05, 0x2C80, 0x3041, 0x30A1, 0x4E00, 0xA000, 0xAC00, 0xFB50, 0x10300, 0x12000, 0x1E900, 0x20000,
)  # fmt: skip
_SCRIPTS = tuple(
    [chr(code) for code in range(start, start + 60) if unicodedata.category(chr(code))[0] in "LM"] for start in _STARTS
)
_ODD = (
    " ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\u00a0", "\u200b", "\u200d", "\u200c", "\u202e", "\u2066", "\u2028",
    "\ufeff", "\u3000", "\u0301", "\u0327", "\ufe0f", "\x1b", "\x85", "👨\u200d👩\u200d👧\u200d👦", "👍🏽", "🇯🇵", "❤️",
    "12345", "<b>&amp;", "\U000f0000", "<|endoftext|>",
)  # fmt: skip


def texts_of_all_scripts(n: int = 300) -> list[str]:
    """Returns n texts; several contain each script."""
    rng = random.Random(11)
    texts = []
    for index in range(n):
        letters = _SCRIPTS[index % len(_SCRIPTS)] + rng.choice(_SCRIPTS)[:5]
        words = ["".join(rng.choices(letters, k=rng.randrange(1, 7))) for _ in range(rng.randrange(1, 6))]
        texts.append("".join(word + rng.choice((" ", rng.choice(_ODD))) for word in words))
    return texts
