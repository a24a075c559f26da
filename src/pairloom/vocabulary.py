"""Builds and changes vocabularies: from bytes, truncated to a smaller size, with more special tokens.

Each function returns a new Model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pairloom import _core
from pairloom._internal.arguments import check_bool, check_choice, check_int, shown
from pairloom.errors import MissingByteError
from pairloom.model import LARGEST_ID, Model, Pattern, assign_special_ids
from pairloom.patterns import pattern_text

if TYPE_CHECKING:
    import numpy as np

    from pairloom.view import merging
else:
    from pairloom._internal.lazy import LazyModule
    from pairloom._internal.lazy import numpy as np

    merging = LazyModule("pairloom.view.merging")

if TYPE_CHECKING:
    from pairloom.model import DecodeErrors
    from pairloom.training.config import TrainingConfig

__all__ = ["from_bytes", "missing_bytes_text", "tokens_made", "truncated", "unreachable_text", "with_special_tokens"]

Specials = Sequence[str] | Mapping[str, int]


def from_bytes(
    vocab: Mapping[int, bytes],
    merges: Sequence[tuple[bytes, bytes]],
    special_tokens: Specials | None,
    *,
    pattern: Pattern,
    decode_errors: DecodeErrors,
) -> Model:
    """A Model of a vocabulary id -> bytes and merges as byte pairs in rank order."""
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
                f"special token {shown(text)} is given id {token_id}, which the vocabulary gives to"
                f" {shown(tokens[token_id])}"
            )
        # A byte, or what a merge makes, stays an ordinary token unless another id has the same bytes.
        is_needed = len(data) == 1 or data in merged_bytes
        if not is_needed or n_ids_of[data] > (token_id in tokens):
            ordinary.pop(token_id, None)
    id_of: dict[bytes, int] = {}
    for token_id, token in sorted(ordinary.items()):
        if token in id_of:
            raise ValueError(
                f"vocab gives {shown(token)} to ids {id_of[token]} and {token_id}; ids must be distinct in bytes"
            )
        id_of[token] = token_id
    triples = []
    for rank, (left, right) in enumerate(merges):
        for part in (left, right, left + right):
            if part not in id_of:
                raise ValueError(
                    f"merge {rank} is ({shown(left)}, {shown(right)}), but the vocabulary lacks {shown(part)}"
                )
        triples.append((id_of[left], id_of[right], id_of[left + right]))
    if len({(left, right) for left, right, _ in triples}) < len(triples):
        seen: set[tuple[int, int]] = set()
        for rank, (left_id, right_id, _) in enumerate(triples):
            if (left_id, right_id) in seen:
                raise ValueError(f"merge {rank} {shown(merges[rank])} is given twice; keep the first")
            seen.add((left_id, right_id))
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
            raise ValueError(f"vocab[{token_id}] is empty; a token has at least one byte")
    return dict(vocab)


def _checked_merges(merges: Any) -> Sequence[tuple[bytes, bytes]]:
    if isinstance(merges, (str, bytes, Mapping)) or not isinstance(merges, Sequence):
        raise TypeError(f"merges must be a list of (bytes, bytes), not {type(merges).__name__}")
    for rank, pair in enumerate(merges):
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(p, bytes) for p in pair)):
            raise TypeError(f"merge {rank} must be a pair (bytes, bytes), not {shown(pair)}")
    return merges


def missing_bytes_text(model: Model) -> str | None:
    """How many of the 256 bytes the model lacks, and which; None if it has all.

    >>> missing_bytes_text(Model.from_tokens({b: bytes([b]) for b in range(253)}, pattern="a"))
    'the vocabulary has no token for 3 of the 256 bytes (0xfd-0xff)'
    """
    missing = model.missing_bytes()
    if not missing:
        return None
    gaps = np.flatnonzero(np.diff(missing) != 1) + 1
    runs = [run.tolist() for run in np.split(np.array(missing), gaps)]
    shown_runs = [f"0x{run[0]:02x}" if len(run) == 1 else f"0x{run[0]:02x}-0x{run[-1]:02x}" for run in runs]
    more = f" and {len(runs) - _MOST_RUNS} more runs" if len(runs) > _MOST_RUNS else ""
    return (
        f"the vocabulary has no token for {len(missing)} of the 256 bytes ({', '.join(shown_runs[:_MOST_RUNS])}{more})"
    )


_MOST_RUNS = 12


def unreachable_text(model: Model) -> str | None:
    """How many tokens the merges never make, and what to pass; None if they make all.

    Merges that come after those that make their parts, as learned ones do, are taken to make what they say. In any
    other order each token is encoded.
    """
    if model.rule != "pairs" or model.ignore_merges:
        return None
    lengths = np.diff(model.token_ends, prepend=np.uint64(0))
    left, right, made = np.searchsorted(model.token_ids, model.merges.T)
    ranks = np.arange(len(made))
    # The first merge that makes each token: -1 for a byte, beyond the last one where none does.
    first = np.where(lengths == 1, -1, len(made))
    first[made[::-1]] = ranks[::-1]
    is_in_order = np.all(np.maximum(first[left], first[right]) < ranks)
    n_made = np.count_nonzero(first < len(made)) if is_in_order else len(tokens_made(model))
    if n_made == len(lengths):
        return None
    return (
        f"{len(lengths) - n_made} of {len(lengths)} tokens are never used, because the merges do not lead to them; pass"
        " all merges in the order in which they were learned, and special tokens as special_tokens"
    )


def tokens_made(model: Model) -> set[int]:
    """The ids of the tokens that merging makes of their own bytes, however the pattern cuts them."""
    tokens = model.tokens()
    whole = _core.Encoder(
        columns=model.columns,
        ignore_merges=model.ignore_merges,
        special_tokens={},
        pattern="(?s).+",
        decode_errors="replace",
        normalizer=(),
        special_rules=[],
        cache_bytes=None,
    )
    lookup = merging.merge_lookup(model, tokens)
    id_of_byte = {token[0]: token_id for token_id, token in tokens.items() if len(token) == 1}
    made = set()
    for token_id, token in tokens.items():
        try:
            ids: list[int | None] = [*whole.encode_ordinary(token.decode())]
        except (UnicodeDecodeError, MissingByteError):
            # Bytes that are no text.
            ids = merging.merged([id_of_byte.get(byte) for byte in token], lookup).symbols
        if ids == [token_id]:
            made.add(token_id)
    return made


def truncated(
    model: Model, vocab_size: int, config: TrainingConfig | None, specials_counted: bool | None = None
) -> Model:
    """The Model that training to the smaller `vocab_size` would have given.

    Whether vocab_size counts the special tokens that training put into the vocabulary follows from the config; without
    one, and with special tokens, the caller must pass it.
    """
    check_int("vocab_size", vocab_size)
    if model.rule != "pairs":
        raise ValueError("only a tokenizer of explicit merges can be truncated; this one is defined by ranks")
    merged_ids = model.merges[:, 2]
    if not np.all(np.diff(merged_ids.astype(np.int64)) == 1):
        raise ValueError("only a tokenizer whose merges make consecutive ids can be truncated")
    specials = model.special_tokens
    n_specials = len(specials)
    if specials_counted is not None:
        check_bool("specials_counted", specials_counted)
    elif config is not None:
        specials_counted, n_specials = config.specials_counted, len(config.special_tokens)
    elif specials:
        raise ValueError(
            f"this tokenizer was not trained here, so it is unknown whether vocab_size counts its {n_specials}"
            " special tokens; pass specials_counted=True (as the profiles 'cs336' and 'huggingface' have it) or"
            " specials_counted=False (as 'bpetite' has it)"
        )
    tokens = model.tokens()
    n_base = len(tokens) - len(merged_ids)
    least = n_base + (n_specials if specials_counted else 0)
    if vocab_size < least:
        raise ValueError(f"vocab_size is {vocab_size}, but this tokenizer's base already needs {least}")
    n_merges = min(vocab_size - least, len(merged_ids))
    n_removed = len(merged_ids) - n_merges
    first_free = int(merged_ids[-1]) + 1 if len(merged_ids) else max(tokens, default=-1) + 1
    after = {text for text, i in specials.items() if i >= first_free}
    if n_removed and after and model.post_processor is not None:
        raise ValueError(
            "the post-processor names special tokens by ids, which truncation would change; truncate"
            " tokenizer.without_post_processor()"
        )
    for token_id in merged_ids[n_merges:].tolist():
        del tokens[token_id]
    moved = {text: i - n_removed if text in after else i for text, i in specials.items()}
    return model.with_tokens(tokens, model.merges[:n_merges], moved)


def with_special_tokens(model: Model, special_tokens: Specials) -> Model:
    """The Model with more special tokens; ValueError for one that it has already or an id that is taken."""
    tokens = model.tokens()
    taken = {**tokens, **{i: text.encode() for text, i in model.special_tokens.items()}}
    added = assign_special_ids(taken, special_tokens)
    for text, token_id in added.items():
        if text in model.special_tokens:
            raise ValueError(f"special token {shown(text)} exists already, with id {model.special_tokens[text]}")
        if token_id in taken and taken[token_id] != text.encode():
            raise ValueError(f"id {token_id} for special token {shown(text)} is taken by {shown(taken[token_id])}")
    return model.replaced(special_tokens={**model.special_tokens, **added})
