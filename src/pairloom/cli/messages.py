"""Rewrites the library's errors and warnings for the command line.

The library's remedies name keyword arguments; here these become the command's options. Messages that concern no option
pass unchanged.
"""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _specials(found: re.Match[str]) -> str:
    """Turns a dict of special tokens in a message into options. The message may show only some of the tokens."""
    options = re.sub(r"('(?:[^'\\]|\\.)*)': ([0-9]+)(?:, )?", r"--special \1=\2' ", found[2])
    return found[1] + options.rstrip()


def _changed_option(found: re.Match[str]) -> str:
    """Returns the option by which a run differs from the run that it resumes."""
    if found[1] == "duplicates":
        return ": was made with another choice of --drop-duplicates and --count-duplicates; resume with the same,"
    name = found[1].replace("_", "-")

    def shown(value: str) -> str:
        return f"without --{name}" if value == "None" else f"with --{name} {value}".removesuffix(" True")

    return f": was made {shown(found[2])}, not {shown(found[3])}; resume with the same,"


_NAMES = (
    "bos|corpus_specials|doc_cap|eot|format|id_field|input_errors|input_format|max_bytes|max_memory|max_token_bytes"
    "|min_frequency|missing_bytes|n_tokens|overwrite|parity|parity_reference|pattern|pieces|provenance|rank|resume|rewrite|sample_bytes|separator|seq_len|shard"
    "|shard_tokens|skip_bad|special_tokens|specials|takeover|text_field|threads|token|vocab_size|world_size"
)
_OPTION_OF_ARGUMENT = {"overwrite": "force", "seq_len": "pack", "special_tokens": "special"}


def _option(found: re.Match[str]) -> str:
    """Turns an argument, with or without a value, into an option."""
    before, name, value = found[1] or "", found[2], (found.groupdict().get("value") or "").removeprefix("True")
    plain = re.sub(r'^"([\w-]+)"$', r"\1", value)
    return f"{before}--{_OPTION_OF_ARGUMENT.get(name, name.replace('_', '-'))}{f' {plain}' if plain else ''}"


# Phrases, and arguments with values. Bare names are replaced in few contexts only, since they can be part of a path or
# a text that the message quotes.
_PHRASES = tuple(
    (re.compile(phrase), replacement)
    for phrase, replacement in (
        (r'\bpass separator="\\n" if', "pass --lines if"),
        (r"\bshow fewer of them, or only their start", "pass fewer, or only their start with --max-bytes"),
        (r"^separator is ignored", "--separator or --lines is ignored"),
        (
            r'\bdecode_bytes\(ids\) returns .* errors="replace"\) puts U\+FFFD there.*',
            "--errors replace puts U+FFFD there",
        ),
        (r"\bname its format with format=", "name its format with --model-format"),
        (
            r"\b(when it is loaded, pass (?:pattern=.+ and )?)special_tokens=\{(.*?)(?:\}|(?<=\.\.\.))(?=;|$)",
            _specials,
        ),
        (r"\bspecial_tokens=\[('[^']*')\]", r"--special \1"),
        (r'\bLoad it with missing_bytes="drop"( .*, or )"raise"', r"Pass --missing-bytes drop\1raise"),
        (r"\bdrop it first: tokenizer\.without_post_processor\(\)", "drop it: convert --drop-post-processor"),
        (r"\bpass keep_ids=True$", "leave out --renumber"),
        (r"\bkeep_ids=True leaves them unchanged, and .*", "without --renumber or --compact they stay"),
        (r"\bpass vocab_size >= ([0-9]+)", r"pass --vocab-size \1 or more"),
        (r": was made with (?!pack )([a-z_]+) (.+), not (.+); resume with the same,", _changed_option),
        (r"\bpattern=(?=['(])", "--pattern "),
        (rf"\b()({_NAMES})=(?P<value>True\b|\"[^\"]*\"|[0-9]+)?", _option),
        (rf"\b((?:pass|raise|with|same|either|and|or|format) )(?=[a-z]+_)({_NAMES})\b(?!\()", _option),
        (rf"^((?:.*: )?)({_NAMES})(?= (?:must|is|needs|applies|and)\b)", _option),
    )
)


def with_option_names(message: str) -> str:
    """Replaces keyword arguments in a message by options."""
    for phrase, replacement in _PHRASES:
        message = phrase.sub(replacement, message)
    return message


def error_message(error: BaseException) -> str:
    """Returns an error's message; for an OSError, the path and the reason."""
    if not isinstance(error, OSError) or error.strerror is None:
        return with_option_names(str(error))
    reason = with_option_names(error.strerror)
    paths = [_path(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' -> '.join(paths)}: {reason}" if paths else reason


def _path(name: Any) -> str:
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else str(name)


@contextmanager
def warnings_as_lines(show: Any) -> Iterator[None]:
    """Passes the message of each warning to `show`, without the source line."""
    with warnings.catch_warnings():
        # Override filters that the environment sets.
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: show(with_option_names(str(message)))
        yield
