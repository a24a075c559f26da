"""Random regular expressions in a tokenizer that is given to tiktoken: split there as here, or refused by name.

Where tiktoken splits otherwise by the pattern as it was, reading it must have warned. The vocabulary holds every part
of the texts, so that ids show how a text was split.
"""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from typing import Any

from pairloom import FormatError, PatternError, Tokenizer
from tests.soak import huggingface_captures, huggingface_patterns
from tests.soak.harness import Table

SUMMARY = "random regexes given to tiktoken and read from it; a failure is a text with other ids and no word about it"
QUICK = 150
FULL = 10_000

_N_TEXTS = 25
_LETTERS = ("a", "a", "b", "b", "c")
# tiktoken's engine writes out what a reference refers to, and may need any amount of memory for several.
_REFERENCE = re.compile(r"\\[1-9k]")


def run(count: int, seed: int) -> Table:
    """Runs `count` patterns, half of them of few letters and many groups, and tabulates what became of them."""
    table = Table(("patterns", "no regex", "refused", "same ids", "warned of", "split otherwise before"))
    found: Counter[str] = Counter()
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        module, characters = (
            (huggingface_captures, _LETTERS)
            if rng.random() < 0.5
            else (huggingface_patterns, huggingface_patterns.CHARACTERS)
        )
        # Most such patterns may match nothing, which tiktoken cannot run.
        pattern = f"(?:{module.Pattern(rng).alternatives(2)}){rng.choice(('[abc]', '.', '(?=.).', '(?i:K)'))}|[\\s\\S]"
        if len(_REFERENCE.findall(pattern)) > 1:
            pattern = _REFERENCE.sub("a", pattern)
        texts = ["".join(rng.choices(characters, k=rng.randrange(1, 10))) for _ in range(_N_TEXTS)]
        try:
            found[_outcome(pattern, texts, found)] += 1
        except AssertionError as error:
            found["failed"] += 1
            table.failures.append(f"pattern {number} of seed {seed}: {error}")
    table.add(count, *(found[name] for name in ("no regex", "refused", "same", "warned", "otherwise")))
    return table


def _outcome(pattern: str, texts: list[str], found: Counter[str]) -> str:
    ranks = {bytes((byte,)): byte for byte in range(256)}
    for text in texts:
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                ranks.setdefault(text[start:end].encode(), len(ranks))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            ours = Tokenizer.from_ranks(ranks, pattern)
        except PatternError:
            return "no regex"
    try:
        theirs = ours.to_tiktoken()
    except (FormatError, PatternError):
        return "refused"
    plain = type(theirs)("plain", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    is_other = False
    for text in texts:
        try:
            ids = ours.encode_ordinary(text)
        except PatternError:
            continue  # the search is given up
        again = _encoded(theirs, text)
        assert again == ids, f"{pattern!a}, written {theirs._pat_str!a}: {text!a} has {again}, not {ids}"
        is_other = is_other or _encoded(plain, text) != ids
    assert told or not is_other, f"{pattern!a} is run otherwise by tiktoken, and there was no warning"
    found["otherwise"] += is_other
    found["warned"] += bool(told)
    return "same"


def _encoded(encoding: Any, text: str) -> list[int] | str:
    try:
        return list(encoding.encode_ordinary(text))
    except BaseException as error:  # a panic is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return str(error)
