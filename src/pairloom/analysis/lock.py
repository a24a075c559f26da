"""A lock file for ids: digests of the ids of fixed texts, so that a project notices if an upgrade changes its ids.

    >>> from pairloom import Tokenizer
    >>> from pairloom.analysis.compare import side_of
    >>> side = side_of(Tokenizer.train("a b a b", 258), "mine")
    >>> changes(side, lock(side))
    []

The texts are everyday and hostile ones in several classes, one text with the post-processor's special tokens, and the
tokenizer's own tokens, a hundred at a time. Each line of the lock has the name of a class and, for each text, eight
hexadecimal digits of the SHA-256 of its ids (uint32). For own tokens, which an upgrade can change, the text is hashed
too.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom.analysis.compare import Side
from pairloom.errors import FormatError

_FIRST_LINE = "pairloom-lock 1"
_BLOCK = 100
_SPECIALS_ADDED = "special tokens added"
# The classes of the tokenizer's own tokens, and the separator between two tokens.
_OWN_TOKENS_SEPARATORS = {"own tokens": "\n", "own tokens joined": "", "own tokens in a word": "x"}
# Everyday and hostile texts, by class name.
_TEXTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("lock_texts.json").read_text(encoding="utf-8"))


def lock(side: Side) -> str:
    """Returns the text of a lock: for each class of texts, the digests of their ids."""
    lines = [_FIRST_LINE, f"n_vocab {len(side.lengths)}"]
    lines += [f"{name.replace(' ', '_')} {' '.join(digests)}" for name, digests in _digests(side)]
    return "\n".join(lines) + "\n"


def changes(side: Side, text: str) -> list[str]:
    """Returns a line for each class of texts whose ids differ from the lock `text`, with the first text that changed.

    Raises FormatError if `text` is not a lock, or has another version.
    """
    head, _, rest = text.partition("\n")
    if head.strip() != _FIRST_LINE:
        raise FormatError(f"line 1 is {head[:40]!r}, not {_FIRST_LINE!r}; create the lock with pairloom lock")
    known = {line.partition(" ")[0]: line.split(" ")[1:] for line in rest.splitlines() if line}
    found = []
    n_before = " ".join(known.pop("n_vocab", []))
    n_blocks = -(-int(n_before) // _BLOCK) if n_before.isdecimal() else 0
    if n_before != str(len(side.lengths)):
        found.append(f"n_vocab: {len(side.lengths)} ids, but the lock has {n_before or 'no number'}")
    for name, digests in _digests(side):
        before = known.pop(name.replace(" ", "_"), [])
        if len(before) != (n := n_blocks if name in _OWN_TOKENS_SEPARATORS else len(digests)):
            raise FormatError(f"{name} has {len(before)} digests, not {n}; create the lock again")
        changed = [at for at, (old, new) in enumerate(zip(before, digests, strict=False)) if old != new]
        if changed:
            found.append(f"{name}: {len(changed)} of {len(digests)} texts, first {_block_text(name, changed[0])}")
    if known:
        raise FormatError(f"the lock has a class {next(iter(known))!r} that is unknown; create the lock again")
    return found


def _digests(side: Side) -> list[tuple[str, list[str]]]:
    """Returns each class with the digests of its texts."""
    classes = [(name, [_digest(side.encode(text)) for text in texts]) for name, texts in _TEXTS.items()]
    classes.append((_SPECIALS_ADDED, [_digest(side.encode_around(_TEXTS["English"][0]))]))
    for name, between in _OWN_TOKENS_SEPARATORS.items():
        texts = [_tokens(side, start, between) for start in range(0, len(side.lengths), _BLOCK)]
        classes.append((name, [_digest(side.encode(text), text) for text in texts]))
    return classes


def _block_text(name: str, at: int) -> str:
    start = at * _BLOCK
    if name in _OWN_TOKENS_SEPARATORS:
        return f"the tokens of ids {start} to {start + _BLOCK - 1}"
    return repr(_TEXTS["English" if name == _SPECIALS_ADDED else name][at][:60])


def _tokens(side: Side, start: int, between: str) -> str:
    """Returns the tokens of a block of ids as text; parts of characters become U+FFFD."""
    ids = range(start, min(start + _BLOCK, len(side.lengths)))
    return between.join(side.token(token_id).decode("utf-8", "replace") for token_id in ids if side.lengths[token_id])


def _digest(ids: npt.NDArray[Any], text: str = "") -> str:
    return hashlib.sha256(np.asarray(ids, dtype="<u4").tobytes() + text.encode()).hexdigest()[:8]
