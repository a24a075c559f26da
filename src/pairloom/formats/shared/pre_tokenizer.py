"""Writes the pre_tokenizer (one pattern, or several that split in turn) and the normalizer of a tokenizer.json.

`crates/core/src/format/pre_tokenizer.rs` reads them; `reference.pretokens` defines how a pattern splits.
"""

from typing import Any, Final

from pairloom import _core
from pairloom._core import DIGIT, PUNCTUATION
from pairloom._internal.arguments import shown
from pairloom.errors import FormatError, PatternError
from pairloom.formats.shared.json_text import camel_case
from pairloom.model import DROP_STEP, UNKNOWN, UNKNOWN_EACH, WORDS, Pattern
from pairloom.patterns import BYTE_LEVEL, GPT2, uncommented

# Takes the whole text as one pretoken.
_WHOLE = r"[\s\S]+"
_BYTE_LEVEL: Final = {"type": "ByteLevel", "trim_offsets": True}
# Written as named steps rather than patterns, since HuggingFace's Unicode tables are of other versions.
_STEPS: Final[dict[str, dict[str, Any]]] = {
    DIGIT: {"type": "Digits", "individual_digits": True},
    DIGIT + "+": {"type": "Digits", "individual_digits": False},
    PUNCTUATION: {"type": "Punctuation", "behavior": "Isolated"},
    **{
        f"(?#{comment}){PUNCTUATION}": {"type": "Punctuation", "behavior": camel_case(comment)}
        for comment in ("contiguous", "merged_with_previous", "merged_with_next")
    },
}
# Steps that drop white space, by the pattern that they split by.
_WORDS: Final[dict[str, dict[str, Any]]] = {
    r"\w+|[^\w\s]+": {"type": "Whitespace"},
    r"\s+": {"type": "WhitespaceSplit"},
    **{
        text: {"type": "Split", "pattern": {"Regex": text}, "behavior": "Removed", "invert": True}
        for text in _core.CLIP_PATTERNS
    },
}


def write_splitters(pattern: Pattern, prefix: bool) -> dict[str, Any]:
    """Returns the pre_tokenizer for a pattern. FormatError if it cannot also put a space before the text."""
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    at = patterns.index(BYTE_LEVEL) if BYTE_LEVEL in patterns else len(patterns)
    before, behind = patterns[:at], patterns[at + 1 :]
    use_regex = bool(before) and before[-1] == GPT2
    if use_regex or before == [_WHOLE]:
        before.pop()
    if prefix and before:
        raise FormatError(
            "a tokenizer.json can put a space before a text only with GPT-2's pattern; save as 'pairloom'"
        )
    byte_level = {**_BYTE_LEVEL, "add_prefix_space": prefix, "use_regex": use_regex}
    steps = [*map(_written, before), byte_level, *map(_written, behind)]
    return {"type": "Sequence", "pretokenizers": steps} if len(steps) > 1 else byte_level


def write_words(patterns: list[str], is_byte_level: bool) -> dict[str, Any]:
    """Returns the pre_tokenizer that splits into words by these patterns; with is_byte_level it ends in ByteLevel."""
    steps = [_WORDS.get(text) or _written(text) for text in patterns]
    if is_byte_level:
        use_regex = patterns[-1] == GPT2
        steps[len(steps) - use_regex :] = [{**_BYTE_LEVEL, "add_prefix_space": False, "use_regex": use_regex}]
    return {"type": "Sequence", "pretokenizers": steps} if len(steps) > 1 else steps[0]


def _written(text: str) -> dict[str, Any]:
    """Returns the tokenizer.json step that splits as the pattern does."""
    if text in _STEPS:
        return _STEPS[text]
    comment, regex = uncommented(text)
    if text == BYTE_LEVEL:
        raise FormatError(
            "a tokenizer.json can write text in the byte alphabet only once, so it cannot express this pattern; save "
            "as 'pairloom'"
        )
    try:
        written, can_be_empty = _core.write_oniguruma(regex)
    except PatternError as error:
        raise FormatError(str(error)) from None
    if comment is None and can_be_empty:
        raise FormatError(
            f"a tokenizer.json would split at empty matches of the pattern {shown(regex)}; save as 'pairloom', or "
            "rewrite the pattern so that each match has a character"
        )
    behavior = camel_case(comment or "isolated")
    return {"type": "Split", "pattern": {"Regex": written}, "behavior": behavior, "invert": False}


def write_normalizer(steps: tuple[str, ...]) -> Any:
    """Returns the value of the key `normalizer`. Skips steps that belong to the pre-tokenizer and the model."""
    others = ("prefix_space", DROP_STEP, UNKNOWN, UNKNOWN_EACH, WORDS)
    nodes = [
        {"type": "Lowercase" if step == "lowercase" else step.upper()} for step in steps if not step.startswith(others)
    ]
    return None if not nodes else nodes[0] if len(nodes) == 1 else {"type": "Sequence", "normalizers": nodes}
