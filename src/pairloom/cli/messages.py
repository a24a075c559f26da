"""Errors and warnings of the library, rewritten for the command line.

The library names keyword arguments as the remedy; here they become the command's options. A message about something
without an option is passed on unchanged.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["error_message", "warnings_as_lines", "with_option_names"]


def _specials(found: re.Match[str]) -> str:
    """The special tokens of a dict in a message, as options; the message may show only some of them."""
    options = re.sub(r"('(?:[^'\\]|\\.)*)': ([0-9]+)(?:, )?", r"--special \1=\2' ", found[2])
    return found[1] + options.rstrip()


def _made_with(found: re.Match[str]) -> str:
    """The option in which a run differs from the one that it resumes."""
    if found[1] == "duplicates":
        return ": was made with another choice of --drop-duplicates and --count-duplicates; resume with the same,"
    name = found[1].replace("_", "-")

    def shown(value: str) -> str:
        return f"without --{name}" if value == "None" else f"with --{name} {value}"

    return f": was made {shown(found[2])}, not {shown(found[3])}; resume with the same,"


# Whole phrases, because a name alone may be part of a path or a text that the message quotes.
_PHRASES = tuple(
    (re.compile(phrase), replacement)
    for phrase, replacement in (
        (r"\bpass overwrite=True\b", "pass --force"),
        (r"\(overwrite=True\)", "(--force)"),
        (r"\bpass takeover=True\b", "pass --takeover"),
        (r'\bpass separator="\\n" if', "pass --lines if"),
        (r"\(resume=True\)", "(--resume)"),
        (r'\binput_errors="replace"', "--input-errors replace"),
        (r'\bpass input_format="(text|jsonl)"', r"pass --input-format \1"),
        (r'\bpass separator="([^"]+)"', r"pass --separator '\1'"),
        (r'\bpass corpus_specials="split"', "pass --corpus-specials split"),
        (r"\bleave such (lines|rows|records) out with skip_bad\b", r"leave such \1 out with --skip-bad"),
        (r"^(.*: )?id_field names\b", r"\1--id-field names"),
        (r", whose format input_format says$", ", whose format --input-format says"),
        (r"\btokenize with provenance=True and id_field=,", "tokenize with --provenance and --id-field,"),
        (
            r'\bdecode_bytes\(ids\) returns .* errors="replace" puts U\+FFFD there.*',
            "--errors replace puts U+FFFD there",
        ),
        (r"\bname one with text_field\b", "name one with --text-field"),
        (r"\bname its format with format=", "name its format with --model-format"),
        (r"\bwhen it is loaded, pass pattern=(?=['(])", "when it is loaded, pass --pattern "),
        (
            r"\b(when it is loaded, pass (?:--pattern .+ and )?)special_tokens=\{(.*?)(?:\}|(?<=\.\.\.))(?=;|$)",
            _specials,
        ),
        (r"\bpass pattern=", "pass --pattern"),
        (r'\bPass missing_bytes="drop"( .*, or )"raise"', r"Pass --missing-bytes drop\1raise"),
        (r"\bpass special_tokens=\[('[^']*')\]", r"pass --special \1"),
        (
            r'\bpass (?:format="(\w+)" for that((?: \(a folder\))?), or )?format="pairloom"',
            lambda found: f"pass {f'--format {found[1]} for that{found[2]}, or ' if found[1] else ''}--format pairloom",
        ),
        (r"\bdrop it first: tokenizer\.without_post_processor\(\)", "drop it: convert --drop-post-processor"),
        (r"\bvocab_size or n_tokens\b", "--vocab-size or --n-tokens"),
        (r"\bpass n_tokens\b", "pass --n-tokens"),
        (r"\bkeep_ids=True leaves them, and .*", "without --renumber or --compact they stay"),
        (r"\bleave out pattern=", "leave out --pattern"),
        (r"\bleave pattern=None", "leave out --pattern"),
        (r"\bits own special_tokens; leave special_tokens=None", "its own special tokens; leave out --special"),
        (r"\bthe same special_tokens and corpus_specials\b", "the same --special and --corpus-specials"),
        (r"\bpass vocab_size >= ([0-9]+)", r"pass --vocab-size \1 or more"),
        (r"\bmax_memory=(?=[0-9]+ (?:bytes|is too low))", "--max-memory "),
        (r"\bnot counted in vocab_size=(?=[0-9]+;)", "not counted in --vocab-size "),
        (r"\bvocab_size=([0-9]+) fits uint16", r"--vocab-size \1 fits uint16"),
        (r"\boccurs min_frequency=([0-9]+) times", r"occurs --min-frequency \1 times"),
        (r"\blonger than max_token_bytes=(?=[0-9]+)", "longer than --max-token-bytes "),
        (r"\braise max_memory\b", "raise --max-memory"),
        (r"^(eot|bos)(?= (?:asks|must)\b)", r"--\1"),
        (r'\bspecials="(ordinary|recognise)"', r"--specials \1"),
        (r"\(resume=True, rewrite=True\)", "(--resume --rewrite)"),
        (r"\bresume with rewrite=True\b", "resume with --resume --rewrite"),
        (r": was made with (?!pack )([a-z_]+) (.+), not (.+); resume with the same,", _made_with),
        (r"^seq_len(?= (?:must|is)\b)", "--pack"),
        # Messages of argument checks begin with the argument's name.
        (
            r"^(doc_cap|max_bytes|max_memory|max_token_bytes|min_frequency|separator|shard_tokens|text_field|threads"
            r"|vocab_size|id_field|rank|world_size|shard|token)(?= (?:must|is)\b)",
            lambda found: "--" + found[0].replace("_", "-"),
        ),
    )
)


def with_option_names(message: str) -> str:
    """The message with options in place of keyword arguments."""
    for phrase, replacement in _PHRASES:
        message = phrase.sub(replacement, message)
    return message


def error_message(error: BaseException) -> str:
    """The message of an error; for an OSError, the path and the reason."""
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
        # Overrides filters that the environment sets.
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: show(with_option_names(str(message)))
        yield
