"""The gpt2 scanner splits every Unicode code point as Python's `regex` does, in every context."""

import sys

import pytest
import regex

from pairloom import pretokenize
from pairloom.patterns import GPT2
from tests.unicode16 import unicode16_differences

# These contexts reveal a code point's class; scanners otherwise ask only about characters of the first few scripts.
OF_CLASS = ("a{}", " {} ", "1{}1")
CONTEXTS = ("{}", " {}", "a{}", "{}a", "1{}1", "'{}", "{}'s", " {} ", "  {}", "\n{}\n", "{0}{0}", "漢{}é", "!{}!")


@pytest.mark.long
def test_every_code_point_in_context() -> None:
    changed = unicode16_differences()
    compiled = regex.compile(GPT2)
    n_compared = 0
    for start in range(0, sys.maxunicode + 1, 0x400):
        points = [
            point for point in range(start, start + 0x400) if not 0xD800 <= point <= 0xDFFF and point not in changed
        ]
        # A document ends with its context, so the contexts of many code points share a text, separated by "x\0x".
        for context in CONTEXTS if start < 0x3400 else OF_CLASS:
            text = "x\x00x".join(context.format(chr(point)) for point in points)
            expected = [match.encode() for match in compiled.findall(text)]
            assert pretokenize(text) == expected, f"U+{start:04X}.. in {context!r}"
        n_compared += len(points)
    assert n_compared + len(changed) == sys.maxunicode + 1 - 0x800
    print(f"{n_compared} code points agree, {len(changed)} changed class since Unicode 16")
