"""Training that continues from a tokenizer's own merges; `pairloom.reference.extend` defines it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from pairloom import _core
from pairloom._internal.arguments import check_int, check_max_memory, resolve_threads
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.warnings import warn
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.model import LARGEST_ID, Model, Pattern
from pairloom.patterns import pattern_text
from pairloom.training.config import N_BYTES, TrainingConfig
from pairloom.training.first_seen import check_rule
from pairloom.training.train import check_counts, prune, shortage_text

__all__ = ["config_for", "extend_counted", "extend_model", "n_new_merges"]

# What the tokenizer itself says.
_OWN_FIELDS = ("special_tokens", "special_ids", "byte_order", "decode_errors")


def config_for(
    model: Model, config: TrainingConfig | None, pattern: Pattern | None, profile: str | None, fields: dict[str, Any]
) -> TrainingConfig:
    """The configuration of the training that continues: the tokenizer's own, or a profile, with `fields` changed."""
    for name in _OWN_FIELDS:
        if name in fields:
            raise TypeError(f"{name} is the tokenizer's own and cannot change in extend; leave it out")
    if profile is None and config is None:
        raise ValueError(
            "this tokenizer was not trained here, so it is unknown how it decides ties and whether vocab_size counts"
            " its special tokens; pass profile='bpetite', 'cs336' or 'huggingface', and other fields where they differ"
        )
    base = TrainingConfig.from_profile(profile) if profile is not None else config
    assert base is not None
    # Also names unknown fields.
    TrainingConfig.from_profile("bpetite", **fields)
    specials = sorted(model.special_tokens, key=model.special_tokens.__getitem__)
    own = {"pattern": model.pattern if pattern is None else pattern, "special_tokens": tuple(specials)}
    return dataclasses.replace(base, **{**own, **fields})


def n_new_merges(model: Model, vocab_size: int, config: TrainingConfig) -> int:
    """How many merges `vocab_size` asks for beyond those of the model; ValueError for what cannot be continued."""
    check_int("vocab_size", vocab_size)
    if model.rule != "pairs" or model.ignore_merges:
        raise ValueError(
            "only a tokenizer of explicit merges can be extended; this one looks whole pretokens up or merges by ranks"
        )
    if missing := model.missing_bytes():
        raise ValueError(f"the vocabulary has no token for {len(missing)} of the 256 bytes, so it cannot be extended")
    merged_ids = model.merges[:, 2]
    if not np.all(np.diff(merged_ids.astype(np.int64)) == 1) or len(merged_ids) < model.columns.n_tokens - N_BYTES:
        raise ValueError(
            "only a tokenizer of 256 bytes and of merges that make consecutive ids can be extended; this one has other"
            " ids or other tokens"
        )
    if len(merged_ids) and int(model.token_ids[-1]) != int(merged_ids[-1]):
        raise ValueError("only a tokenizer whose merges make the last ids of its tokens can be extended")
    n_counted = len(model.special_tokens) if config.specials_counted else 0
    n_new = vocab_size - model.columns.n_tokens - n_counted
    if n_new < 0:
        raise ValueError(
            f"vocab_size is {vocab_size}, but this tokenizer has {vocab_size - n_new} already; truncate_vocab makes it"
            " smaller"
        )
    first = _first_id(model, config)
    after = any(token_id >= first for token_id in model.special_tokens.values())
    if n_new and after and model.post_processor is not None:
        raise ValueError(
            "the post-processor names special tokens by ids, which more merges would change; extend"
            " tokenizer.without_post_processor()"
        )
    return n_new


def extend_counted(
    model: Model,
    core: _core.Encoder,
    count: Callable[..., PretokenCounts],
    vocab_size: int,
    config: TrainingConfig,
    **run: Any,
) -> tuple[Model, TrainingConfig]:
    """`extend_model` on what `count` counts, and the configuration that was used; `run` has threads, progress and
    max_memory.
    """
    # Fails before the corpus is read.
    n_new_merges(model, vocab_size, config)
    cut = {name: getattr(config, name) for name in ("pattern", "special_tokens", "corpus_specials")}
    counts, config = prune(count(**cut, **run), config)
    return extend_model(model, core, counts, vocab_size, config, **run), config


def extend_model(
    model: Model,
    core: _core.Encoder,
    counts: PretokenCounts,
    vocab_size: int,
    config: TrainingConfig,
    *,
    threads: int = 0,
    progress: Progress = None,
    max_memory: int | None = None,
) -> Model:
    """The model with the merges that training would learn next from `counts`; `core` encodes by the model."""
    check_rule(config)
    check_counts(counts, config)
    n_new = n_new_merges(model, vocab_size, config)
    first = _first_id(model, config)
    with reporter(progress) as report:
        pairs, shortage = _core.extend(
            counts.columns,
            core,
            n_merges=min(n_new, LARGEST_ID + 1 - first - len(model.special_tokens)),
            tie_break=config.tie_break,
            min_frequency=config.min_frequency,
            max_token_bytes=config.max_token_bytes,
            threads=resolve_threads(threads),
            report=report,
            max_memory=check_max_memory(max_memory),
        )
    n_learned = len(pairs)
    if n_learned < n_new:
        reason = shortage_text(counts.n_bytes, config, shortage)
        warn(
            f"the vocabulary has {vocab_size - n_new + n_learned} tokens, not the {vocab_size} that were asked for:"
            f" {reason}"
        )
    tokens = model.tokens()
    n_old = model.columns.n_merges
    # Symbols: bytes by value, then merges by rank.
    id_of = np.empty(N_BYTES + n_old + n_learned, dtype=np.uint32)
    for token_id, token in tokens.items():
        if len(token) == 1:
            id_of[token[0]] = token_id
    id_of[N_BYTES : N_BYTES + n_old] = model.merges[:, 2]
    id_of[N_BYTES + n_old :] = first + np.arange(n_learned)
    rows = np.column_stack([id_of[pairs[:, 0]], id_of[pairs[:, 1]], id_of[N_BYTES + n_old :]]).astype(np.uint32)
    for left, right, merged_id in rows.tolist():
        tokens[merged_id] = tokens[left] + tokens[right]
    moved = {
        literal: token_id + n_learned if token_id >= first else token_id
        for literal, token_id in model.special_tokens.items()
    }
    merges = np.concatenate([model.merges, rows])
    return model.with_tokens(tokens, merges, moved, pattern=pattern_text(config.pattern))


def _first_id(model: Model, config: TrainingConfig) -> int:
    """The id of the first new merge."""
    first = model.columns.n_ids
    if not model.columns.n_merges and config.special_ids == "after_bytes":
        return max([first, *(token_id + 1 for token_id in model.special_tokens.values())])
    return first
