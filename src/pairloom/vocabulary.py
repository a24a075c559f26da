"""Builds vocabularies from bytes, and truncates, renumbers and compares them, and adds special tokens.

Functions that change a Model return a new one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom._internal.arguments import check_bool, check_choice, check_int, shown
from pairloom._internal.warnings import warn
from pairloom.model import (
    CHARACTERS,
    KEPT_TOKENIZER_JSON,
    LARGEST_ID,
    UNKNOWN,
    UNKNOWN_EACH,
    DecodeErrors,
    Model,
    Pattern,
    assign_special_ids,
    canonical_json,
    config_of,
)
from pairloom.patterns import pattern_text
from pairloom.view.merging import merge_lookup, merged

if TYPE_CHECKING:
    from pairloom.training.config import TrainingConfig

Specials = Sequence[str] | Mapping[str, int]


def from_bytes(
    vocab: Mapping[int, bytes],
    merges: Sequence[tuple[bytes, bytes]],
    special_tokens: Specials | None,
    *,
    pattern: Pattern,
    decode_errors: DecodeErrors,
) -> Model:
    """Builds a Model from a vocabulary id -> bytes and merges as byte pairs in rank order."""
    check_choice("decode_errors", decode_errors, ("strict", "replace", "ignore"))
    tokens = _checked_vocab(vocab)
    specials = assign_special_ids(tokens, special_tokens or {})
    merged_bytes = {left + right for left, right in _checked_merges(merges)}
    n_ids_of = Counter(tokens.values())
    ordinary = dict(tokens)
    for text, token_id in specials.items():
        data = text.encode()
        if token_id in tokens and tokens[token_id] != data:
            raise ValueError(
                f"special token {shown(text)} has id {token_id}, which belongs to {shown(tokens[token_id])} in the "
                "vocabulary"
            )
        # A single byte, or the result of a merge, also stays an ordinary token unless another id has the same bytes.
        is_needed = len(data) == 1 or data in merged_bytes
        if not is_needed or n_ids_of[data] > (token_id in tokens):
            ordinary.pop(token_id, None)
    id_of = {token: token_id for token_id, token in ordinary.items()}
    triples = []
    for rank, (left, right) in enumerate(merges):
        for part in (left, right, left + right):
            if part not in id_of:
                raise ValueError(
                    f"merge {rank} is ({shown(left)}, {shown(right)}), but the vocabulary lacks {shown(part)}"
                )
        triples.append((id_of[left], id_of[right], id_of[left + right]))
    return Model.from_tokens(
        ordinary, triples, special_tokens=specials, pattern=pattern_text(pattern), decode_errors=decode_errors
    )


def _checked_vocab(vocab: Any) -> dict[int, bytes]:
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab must be a dict from int to bytes, not {type(vocab).__name__}")
    for token_id, token in vocab.items():
        check_int("a vocab id", token_id, least=0, most=LARGEST_ID)
        if not isinstance(token, bytes):
            raise TypeError(f"vocab[{token_id}] must be bytes, not {type(token).__name__}")
        if not token:
            raise ValueError(f"vocab[{token_id}] is empty; a token needs at least one byte")
    return dict(vocab)


def _checked_merges(merges: Any) -> Sequence[tuple[bytes, bytes]]:
    if isinstance(merges, (str, bytes, Mapping)) or not isinstance(merges, Sequence):
        raise TypeError(f"merges must be a list of (bytes, bytes), not {type(merges).__name__}")
    for rank, pair in enumerate(merges):
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(p, bytes) for p in pair)):
            raise TypeError(f"merge {rank} must be a pair (bytes, bytes), not {shown(pair)}")
    return merges


def missing_bytes_text(model: Model) -> str | None:
    """Returns a message that names the bytes without a token; None if all 256 have one.

    >>> missing_bytes_text(Model.from_tokens({b: bytes([b]) for b in range(253)}, pattern="a"))
    'the vocabulary has no token for 3 of the 256 bytes (0xfd-0xff)'
    """
    missing = model.missing_bytes()
    if not missing:
        return None
    gaps = np.flatnonzero(np.diff(missing) != 1) + 1
    runs = [run.tolist() for run in np.split(np.array(missing), gaps)]
    shown_runs = [f"0x{run[0]:02x}" if len(run) == 1 else f"0x{run[0]:02x}-0x{run[-1]:02x}" for run in runs]
    runs_text = ", ".join(shown_runs[:_MAX_RUNS_SHOWN])
    if len(runs) > _MAX_RUNS_SHOWN:
        runs_text += f" and {len(runs) - _MAX_RUNS_SHOWN} more runs"
    return f"the vocabulary has no token for {len(missing)} of the 256 bytes ({runs_text})"


_MAX_RUNS_SHOWN = 12


def unreachable_text(model: Model) -> str | None:
    """Returns a message about tokens that the merges never make; None if they make all.

    If each merge comes after the merges of its parts, as in training, every merge is taken to make its token. In any
    other order, each token's bytes are encoded to find out.
    """
    if model.rule != "pairs" or model.ignore_merges or model.pattern == CHARACTERS:
        return None
    lengths = np.diff(model.token_ends, prepend=np.uint64(0))
    left, right, made = np.searchsorted(model.token_ids, model.merges.T)
    ranks = np.arange(len(made))
    # The rank of the first merge that makes each token: -1 for a single byte, len(made) if there is none.
    first = np.where(lengths == 1, -1, len(made))
    first[made[::-1]] = ranks[::-1]
    is_in_order = np.all(np.maximum(first[left], first[right]) < ranks)
    reached = model.token_ids[first < len(made)] if is_in_order else sorted(tokens_made(model))
    unused = np.setdiff1d(model.token_ids, reached)
    if not len(unused):
        return None
    tokens = model.tokens()
    names = ", ".join(shown(tokens[i].decode(errors="replace")) for i in unused[:3].tolist())
    return (
        f"{len(unused)} of {len(lengths)} tokens are never used, because no merge makes them "
        f"({names}{', ...' * (len(unused) > 3)}); pass special tokens with special_tokens=, and all merges in the "
        "order in which they were learned"
    )


def tokens_made(model: Model) -> set[int]:
    """Returns the ids of the tokens that merging makes of their own bytes, ignoring the pattern."""
    tokens = model.tokens()
    whole = _core.Encoder(
        columns=model.columns,
        ignore_merges=model.ignore_merges,
        special_tokens={},
        pattern=CHARACTERS if model.pattern == CHARACTERS else "(?s).+",
        decode_errors="replace",
        normalizer=tuple(step for step in model.normalizer if step.startswith((UNKNOWN, UNKNOWN_EACH))),
        special_rules=[],
        cache_bytes=None,
    )
    if model.pattern == CHARACTERS:
        # Byte fallback makes tokens such as <0x41>, for characters without a token.
        is_fallback = re.compile(rb"<0x[0-9A-F]{2}>").fullmatch
        return {i for i, token in tokens.items() if is_fallback(token) or whole.encode_ordinary(token.decode()) == [i]}
    lookup = merge_lookup(model, tokens)
    id_of_byte = {token[0]: token_id for token_id, token in tokens.items() if len(token) == 1}
    missing = set(range(256)) - id_of_byte.keys()
    made = set()
    texts: dict[int, str] = {}
    for token_id, token in tokens.items():
        try:
            text = token.decode() if missing.isdisjoint(token) else ""
        except UnicodeDecodeError:
            text = ""
        if text:
            texts[token_id] = text
        elif merged([id_of_byte.get(byte) for byte in token], lookup).symbols == [token_id]:
            made.add(token_id)
    encoded = zip(texts, whole.encode_batch(list(texts.values()), 0, None), strict=True)
    return made | {token_id for token_id, ids in encoded if ids == [token_id]}


def truncated(
    model: Model,
    vocab_size: int,
    config: TrainingConfig | None,
    specials_counted: bool | None = None,
    keep_ids: bool = False,
) -> Model:
    """Returns the Model that training to the smaller `vocab_size` would have made; keep_ids leaves its ids unchanged.

    The config says whether vocab_size counts the special tokens. Without a config, a model with special tokens needs
    specials_counted.
    """
    check_int("vocab_size", vocab_size)
    check_bool("keep_ids", keep_ids)
    if model.rule != "pairs":
        raise ValueError("only a tokenizer with explicit merges can be truncated; this one is defined by ranks")
    if specials_counted is not None:
        check_bool("specials_counted", specials_counted)
    elif config is not None:
        specials_counted = config.specials_counted
    remedy = "specials_counted=True (like the profiles 'cs336' and 'huggingface') or False (like 'bpetite')"
    n_specials = n_specials_counted(model, specials_counted, remedy)
    model.check_merges_bytes("truncate_vocab")
    made = merged_ids(model)
    least = model.columns.n_tokens - len(made) + n_specials
    if vocab_size < least:
        raise ValueError(f"vocab_size is {vocab_size}, but this tokenizer's base already needs {least}")
    n_made = vocab_size - least
    if n_made > len(made):
        raise ValueError(
            f"vocab_size is {vocab_size}, but this tokenizer has {least + len(made)}; extend makes it larger"
        )
    changed = truncated_and_renumbered(model, n_made, None if keep_ids or n_made == len(made) else min(made))
    warn_of_moved(model, changed)
    return changed


def n_specials_counted(model: Model, are_counted: bool | None, remedy: str) -> int:
    """Returns how many special tokens vocab_size counts; ValueError that says what to pass if nothing is known."""
    n_specials = len(model.special_tokens)
    if are_counted is None and n_specials:
        raise ValueError(
            "the tokenizer does not store how it was trained, so it is unknown whether vocab_size counts its "
            f"{n_specials} special tokens; pass {remedy}"
        )
    return n_specials if are_counted else 0


def merged_ids(model: Model) -> list[int]:
    """Returns the ids that merges make, without duplicates, in rank order."""
    return list(dict.fromkeys(model.merges[:, 2].tolist()))


def truncated_and_renumbered(model: Model, n_made: int, first: int | None) -> Model:
    """Returns the Model with only the first `n_made` tokens that merges make, optionally renumbered.

    first: None keeps all ids. Otherwise merged tokens get the ids `first`, `first + 1`, ..., followed by the special
    tokens that had ids from `first` on, in their order and with their gaps (`reference.numbered_as_trained`).
    Raises ValueError if another token has an id from `first` on.
    """
    made = merged_ids(model)
    kept = without_tokens(model, set(made[n_made:]))
    if first is None:
        return kept
    tokens, specials = model.tokens(), model.special_tokens
    if any(token_id >= first for token_id in tokens.keys() - made):
        raise ValueError(
            f"the ids from {first} on cannot be renumbered as in a single training, because some belong to tokens "
            "that no merge makes; pass keep_ids=True"
        )
    new_id = {token_id: first + rank for rank, token_id in enumerate(made[:n_made])}
    moving = np.array([i for i in specials.values() if i >= first and i not in tokens], dtype=np.int64)
    moved = moving + n_made - np.searchsorted(np.sort(made), moving)
    return _renumbered(kept, {**new_id, **dict(zip(moving.tolist(), moved.tolist(), strict=True))})


def without_tokens(model: Model, removed: set[int]) -> Model:
    """Returns the Model without these ordinary tokens and the merges that use them."""
    tokens = {token_id: token for token_id, token in model.tokens().items() if token_id not in removed}
    merges = model.merges[~np.isin(model.merges, list(removed)).any(axis=1)]
    return model.with_tokens(tokens, merges, model.special_tokens)


def compacted(model: Model) -> Model:
    """Returns the Model with its ids renumbered 0, 1, ... in the same order."""
    ids = sorted({*model.token_ids.tolist(), *model.special_tokens.values()})
    return _renumbered(model, {token_id: number for number, token_id in enumerate(ids)})


def refilled(old: Model, pruned: Model, extended: Model) -> Model:
    """Returns `extended` with its new tokens moved to the ids of `old` that pruning freed.

    A token that `old` had gets its id back; the others take the remaining free ids in order. Warns if ids stay unused.
    """
    extended = as_pairs(extended)
    tokens, kept = extended.tokens(), set(pruned.token_ids.tolist())
    id_in_old = {token: token_id for token_id, token in old.tokens().items() if token_id not in kept}
    new_id = {i: id_in_old.pop(token) for i, token in tokens.items() if i not in kept and token in id_in_old}
    free = sorted(id_in_old.values())
    learned = [i for i in tokens if i not in kept and i not in new_id]
    new_id.update(zip(learned, free, strict=False))
    if unused := free[len(learned) :]:
        warn(
            f"{len(unused)} of the freed ids get no new token, so their embedding rows stay unused: {shown(unused)}; "
            "replace fewer tokens, or train on more text"
        )
    return _renumbered(extended, new_id).canonical_form()


def as_pairs(model: Model) -> Model:
    """Returns the Model with explicit merges instead of ranks."""
    if model.rule != "ranks":
        return model
    rows, _, _ = _core.pairs_of_ranks(model.token_bytes, model.token_ends)
    return model.with_tokens(model.tokens(), model.token_ids[rows], model.special_tokens, rule="pairs")


def _renumbered(model: Model, new_id: Mapping[int, int]) -> Model:
    """Returns the Model with new ids, also in its post-processor and in the parts of a tokenizer.json that it keeps."""
    specials = {literal: new_id.get(token_id, token_id) for literal, token_id in model.special_tokens.items()}
    around: dict[str, str] = {}
    if model.post_processor is not None:
        around["post_processor"] = canonical_json(_with_new_ids(json.loads(model.post_processor), new_id))
    if KEPT_TOKENIZER_JSON in (config := config_of(model)):
        around["tokenizer_config"] = canonical_json(
            {**config, KEPT_TOKENIZER_JSON: _with_new_ids(config[KEPT_TOKENIZER_JSON], new_id)}
        )
    number = np.arange(model.columns.n_ids, dtype=np.uint32)
    moving = [token_id for token_id in new_id if token_id < len(number)]
    number[moving] = [new_id[token_id] for token_id in moving]
    tokens = {int(number[token_id]): token for token_id, token in model.tokens().items()}
    return model.with_tokens(tokens, number[model.merges], specials, **around)


def _with_new_ids(value: Any, new_id: Mapping[int, int], key: str = "") -> Any:
    """Replaces the ids in a JSON value of a tokenizer.json's post-processor or padding; `key` is the value's key."""
    if isinstance(value, dict):
        return {name: _with_new_ids(part, new_id, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_new_ids(part, new_id, key) for part in value]
    return new_id.get(value, value) if type(value) is int and key in ("cls", "ids", "pad_id", "sep") else value


class VocabularyChanges(NamedTuple):
    """The embedding rows that change between an old and a new vocabulary.

    new: int64 [n], ids of tokens that the old one lacks. moved: int64 [m, 2], old and new id of tokens whose id
    changed. removed: int64 [k], old ids of tokens that are gone.
    """

    new: npt.NDArray[np.int64]
    moved: npt.NDArray[np.int64]
    removed: npt.NDArray[np.int64]


def changes(old: Model, new: Model) -> VocabularyChanges:
    """Returns the changes from `old` to `new`, comparing tokens by their bytes and special tokens by their text."""
    before, after = (
        {**{token: token_id for token_id, token in model.tokens().items()}, **model.special_tokens}
        for model in (old, new)
    )
    shared = {(token_id, after[token]) for token, token_id in before.items() if token in after}
    kept, found = {pair[0] for pair in shared}, {pair[1] for pair in shared}
    moved = sorted(pair for pair in shared if pair[0] != pair[1])
    columns = (sorted(set(after.values()) - found), moved, sorted(set(before.values()) - kept))
    new_ids, pairs, removed = (np.array(column, dtype=np.int64) for column in columns)
    return VocabularyChanges(new_ids, pairs.reshape(-1, 2), removed)


def warn_of_moved(old: Model, new: Model) -> None:
    """Warns if tokens of `old` have other ids in `new`."""
    n_moved = len(changes(old, new).moved)
    specials = {literal: i for literal, i in old.special_tokens.items() if new.special_tokens[literal] != i}
    if n_moved:
        literal = min(specials, key=specials.__getitem__, default=None)
        example = (
            "" if literal is None else f" ({shown(literal)} from {specials[literal]} to {new.special_tokens[literal]})"
        )
        warn(
            f"{n_moved} of the ids move, {len(specials)} of them of special tokens{example}, so embeddings and files "
            "of ids no longer fit; keep_ids=True leaves them unchanged, and changes_from(old) lists them"
        )


def with_special_tokens(model: Model, special_tokens: Specials) -> Model:
    """Returns the Model with more special tokens; ValueError for one that exists already or an id that is taken."""
    tokens = model.tokens()
    taken = {**tokens, **{i: text.encode() for text, i in model.special_tokens.items()}}
    added = assign_special_ids(taken, special_tokens)
    for text, token_id in added.items():
        if text in model.special_tokens:
            raise ValueError(f"special token {shown(text)} already exists, with id {model.special_tokens[text]}")
        if token_id in taken and taken[token_id] != text.encode():
            raise ValueError(
                f"id {token_id} for special token {shown(text)} already belongs to {shown(taken[token_id])}"
            )
    return model.replaced(special_tokens={**model.special_tokens, **added})
