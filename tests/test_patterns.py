"""Every named pattern: the core's hand-written scanner splits like the reference, and gpt2's like Python's `regex`."""

import random
import sys
from typing import Any

import pytest
import regex
from tiktoken_ext import openai_public

from pairloom import PatternError, Tokenizer, _core, pretokenize
from pairloom.analysis.inspect import inspect_tokenizer
from pairloom.patterns import GPT2, PATTERNS, pattern_name, pattern_text
from pairloom.reference import naive
from tests.cases import INPUTS
from tests.corpora import ALPHABETS, random_documents
from tests.parity.texts import HOSTILE
from tests.unicode16 import unicode16_differences


@pytest.mark.parametrize("name", PATTERNS)
def test_a_named_pattern_has_a_scanner(name: str) -> None:
    assert _core.pattern_engine(pattern_text(name)) == "scanner"
    assert pattern_name(pattern_text(name)) == name


@pytest.mark.parametrize("name", PATTERNS)
def test_the_scanner_splits_as_the_reference(name: str) -> None:
    draw = random.Random(name)
    short = [text for text in HOSTILE if len(text) < 100]
    texts = [*HOSTILE, *("".join(draw.sample(short, 3)) for _ in range(20))]
    texts += [text for _ in range(300) for text in random_documents(draw)]
    everything = [letter for letters in ALPHABETS.values() for letter in letters]
    texts += ["".join(draw.choices(everything, k=200)) for _ in range(300)]
    for text in texts:
        assert pretokenize(text, name) == naive.pretokenize(text, name), text


def test_the_text_that_tiktoken_publishes_is_scanned_too() -> None:
    assert _core.pattern_engine(openai_public.r50k_pat_str) == "scanner"


def test_patterns_that_do_not_compile() -> None:
    with pytest.raises(PatternError, match=r"\(a"):
        pretokenize("a", "(a")
    with pytest.raises(ValueError, match="gpt2, cl100k"):
        pretokenize("a", "gpt9")
    with pytest.raises(ValueError, match="empty"):
        pretokenize("a", "")
    with pytest.raises(TypeError):
        pretokenize("a", 5)  # type: ignore[arg-type]
    with pytest.raises(PatternError):
        Tokenizer.train(["a"], 300, pattern="[")


@pytest.mark.parametrize(("end", "is_last"), [("$", True), (r"\z", True), (r"\Z", False)])
def test_an_end_is_that_of_the_text_or_before_its_last_line_feed(end: str, is_last: bool) -> None:
    for start in ("", "(?<!x)"):
        assert pretokenize("ab\n", rf"{start}[a-z]+{end}|.|\n") == ([b"a", b"b", b"\n"] if is_last else [b"ab", b"\n"])
        assert pretokenize("b ab", rf"{start}[a-z]+{end}|.|\n") == [b"b", b" ", b"ab"]


@pytest.mark.parametrize(("pattern", "engine"), INPUTS["engines"])
def test_any_other_pattern_splits_by_the_engine_it_needs(pattern: Any, engine: str) -> None:
    pattern = tuple(pattern) if isinstance(pattern, list) else pattern
    tokenizer = Tokenizer.train(["ab ab"], 258, pattern=pattern)
    assert tokenizer.pattern_engine == engine
    assert inspect_tokenizer(tokenizer)["pattern_engine"] == engine
    text = "ab abc ab  c\n 's 1234é..I'S   x" * 50
    assert pretokenize(text, pattern) == naive.pretokenize(text, pattern)
    assert tokenizer.encode_batch([text] * 5, threads=2) == [tokenizer.encode(text)] * 5


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
