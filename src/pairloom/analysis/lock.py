"""A lock for ids: digests of the ids of fixed texts, by which a project sees that an upgrade changed what it encodes.

    >>> from pairloom import Tokenizer
    >>> from pairloom.analysis.compare import side_of
    >>> side = side_of(Tokenizer.train("a b a b", 258), "mine")
    >>> changes(side, lock(side))
    []

The texts are everyday and hostile ones, by class, and the tokenizer's own tokens, a hundred at a time. A line of the
lock has the name of a class, and for each text eight hexadecimal digits of the SHA-256 of its ids (uint32).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom.analysis.compare import Side
from pairloom.errors import FormatError

__all__ = ["changes", "lock"]

_HEAD = "pairloom-lock 1"
_BLOCK = 100
# Names of classes, and texts that everyday and hostile corpora have.
_TEXTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("lock_texts.json").read_text(encoding="utf-8"))


def lock(side: Side) -> str:
    """The text of a lock: for each class of texts the digests of their ids."""
    lines = [_HEAD, f"n_vocab {len(side.lengths)}"]
    lines += [f"{name.replace(' ', '_')} {' '.join(digests)}" for name, digests in _digests(side)]
    return "\n".join(lines) + "\n"


def changes(side: Side, text: str) -> list[str]:
    """A line for each class of texts whose ids differ from those of a lock, with the first text that changed.

    Raises FormatError for a text that is no lock, or one of another version.
    """
    head, _, rest = text.partition("\n")
    if head.strip() != _HEAD:
        raise FormatError(f"line 1 is {head[:40]!r}, not {_HEAD!r}; write the lock with pairloom lock")
    known = {line.partition(" ")[0]: line.split(" ")[1:] for line in rest.splitlines() if line}
    found = []
    if (n_before := " ".join(known.pop("n_vocab", []))) != str(len(side.lengths)):
        found.append(f"n_vocab: {len(side.lengths)} ids, where the lock has {n_before or 'no number'}")
    for name, digests in _digests(side):
        before = known.pop(name.replace(" ", "_"), None)
        if before is None:
            raise FormatError(f"the lock has no class {name!r}; write it again with pairloom lock")
        if name in _TEXTS and len(before) != len(digests):
            raise FormatError(f"{name} has {len(before)} digests, not {len(digests)}; write the lock again")
        changed = [at for at, (old, new) in enumerate(zip(before, digests, strict=False)) if old != new]
        if changed:
            found.append(f"{name}: {len(changed)} of {len(digests)} texts, first {_shown(name, changed[0])}")
    if known:
        raise FormatError(f"the lock has a class {next(iter(known))!r} that is not known; write it again")
    return found


def _digests(side: Side) -> list[tuple[str, list[str]]]:
    """Each class, and the digests of its texts."""
    classes = dict(_TEXTS)
    for name, between in (("own tokens", "\n"), ("own tokens joined", "")):
        classes[name] = [_tokens(side, start, between) for start in range(0, len(side.lengths), _BLOCK)]
    return [(name, [_digest(side.encode(text)) for text in texts]) for name, texts in classes.items()]


def _shown(name: str, at: int) -> str:
    start = at * _BLOCK
    return repr(_TEXTS[name][at][:60]) if name in _TEXTS else f"the tokens of ids {start} to {start + _BLOCK - 1}"


def _tokens(side: Side, start: int, between: str) -> str:
    """The tokens of a block of ids as text; those that are part of a character as U+FFFD."""
    ids = range(start, min(start + _BLOCK, len(side.lengths)))
    return between.join(side.token(token_id).decode("utf-8", "replace") for token_id in ids if side.lengths[token_id])


def _digest(ids: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.asarray(ids, dtype="<u4").tobytes()).hexdigest()[:8]
