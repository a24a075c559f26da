"""Training that continues from a tokenizer's own merges; `pairloom.reference.extend` defines it."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from pairloom import _core
from pairloom._internal.arguments import check_bool, check_int, resolve_threads, shown
from pairloom._internal.progress import Progress, reporter
from pairloom._internal.warnings import warn
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.model import LARGEST_ID, Model, Pattern
from pairloom.patterns import pattern_name, pattern_text
from pairloom.training.config import TrainingConfig
from pairloom.training.first_seen import check_rule
from pairloom.training.train import check_counts, prune, rules, shortage_text
from pairloom.vocabulary import as_pairs, merged_ids, n_specials_counted, truncated_and_renumbered, warn_of_moved

# Fields that the tokenizer fixes, so that `extend` cannot change them.
_FIXED_FIELDS = ("special_tokens", "special_ids", "byte_order", "decode_errors")


@dataclasses.dataclass(frozen=True)
class Extension:
    """The checked arguments of `extend`; `model` has explicit merges.

    config: how training continues. is_recorded: whether the profile is known, so that the result can record it.
    n_tokens: how many tokens to add.
    """

    model: Model
    config: TrainingConfig
    is_recorded: bool
    n_tokens: int
    keep_ids: bool

    @classmethod
    def of(
        cls,
        model: Model,
        vocab_size: int | None,
        pattern: Pattern | None,
        profile: str | None,
        *,
        n_tokens: int | None,
        keep_ids: bool,
        fields: dict[str, Any],
    ) -> "Extension":
        """Checks the arguments of `extend`; TypeError or ValueError if they are invalid."""
        for name in _FIXED_FIELDS:
            if name in fields:
                raise TypeError(f"{name} is the tokenizer's own and cannot change in extend; leave it out")
        # Also raises an error for unknown fields.
        base = TrainingConfig.from_profile(profile or "bpetite", **fields)
        known = TrainingConfig.of_model(model)
        recorded = base if profile is not None else known
        specials = sorted(model.special_tokens, key=model.special_tokens.__getitem__)
        own: dict[str, Any] = {name: getattr(known or base, name) for name in _FIXED_FIELDS}
        own |= {"pattern": model.pattern if pattern is None else pattern, "special_tokens": tuple(specials)}
        config = dataclasses.replace(recorded or base, **{**own, **fields})
        if (vocab_size is None) == (n_tokens is None):
            raise ValueError("pass either vocab_size or n_tokens, the number of tokens to add")
        if n_tokens is not None:
            check_int("n_tokens", n_tokens, least=0)
        else:
            check_int("vocab_size", vocab_size)
            assert vocab_size is not None
            is_known = recorded is not None or "specials_counted" in fields
            n_old = n_counted(model, config if is_known else None, "add")
            if vocab_size < n_old:
                raise ValueError(f"vocab_size is {vocab_size}, but this tokenizer has {n_old} already; pass more")
            n_tokens = vocab_size - n_old
        model.check_merges_bytes("extend")
        model = as_pairs(model)
        extension = cls(model, config, recorded is not None, n_tokens, check_bool("keep_ids", keep_ids))
        if not keep_ids:
            # If renumbering is impossible, this raises before the corpus is read.
            extension.numbered(model, n_tokens)
        return extension

    def numbered(self, extended: Model, n_more: int = 0) -> Model:
        """Returns the extended model numbered as by a single training run, as if `n_more` tokens were still added."""
        made = merged_ids(self.model)
        first = min(made, default=self.model.columns.n_ids)
        if not made and self.config.special_ids == "after_bytes":
            first = max([first, *(token_id + 1 for token_id in self.model.special_tokens.values())])
        return truncated_and_renumbered(extended, len(merged_ids(extended)) + n_more, first)


def pattern_of_counts(counts: PretokenCounts, model: Model) -> Pattern:
    """Returns the pattern of the counts, by which the extended tokenizer splits; warns if the model has another one."""
    pattern = counts.metadata.pattern
    if pattern != model.pattern:
        new, old = (pattern_name(each) or each for each in (pattern, model.pattern))
        warn(
            f"the new tokenizer splits texts by {shown(new)}, the pattern of the counts, instead of {shown(old)}, so "
            "the same texts can get other ids; pass pattern= if that is intended, or count with the tokenizer's own "
            "pattern"
        )
    return pattern


def n_counted(model: Model, config: TrainingConfig | None, verb: str) -> int:
    """Returns the model's size as vocab_size counts it; ValueError if it is unknown whether special tokens count."""
    are_counted = None if config is None else config.specials_counted
    return model.columns.n_tokens + n_specials_counted(model, are_counted, f"n_tokens, the number of tokens to {verb}")


def extend_counted(
    extension: Extension,
    core: _core.Encoder,
    count: Callable[..., PretokenCounts],
    *,
    threads: int,
    progress: Progress,
    max_memory: int | None,
) -> Model:
    """Returns the model with the tokens that training learns next from the counts that `count` returns.

    core: the encoder of the model.
    """
    model, config = extension.model, extension.config
    check_rule(config)
    cut = {name: getattr(config, name) for name in ("pattern", "special_tokens", "corpus_specials")}
    counts, config = prune(count(**cut, threads=threads, progress=progress, max_memory=max_memory), config)
    check_counts(counts, config)
    tokens = model.tokens()
    made = set(merged_ids(model))
    # A new merge that makes one of these tokens does not add a token.
    not_made = {token: token_id for token_id, token in tokens.items() if len(token) > 1 and token_id not in made}
    next_id = core.n_vocab
    last_id = min(next_id + extension.n_tokens, LARGEST_ID + 1)
    with reporter(progress) as report:
        pairs, shortage = _core.extend(
            counts.columns,
            core,
            rules(config, last_id - next_id + len(not_made), max_memory, resolve_threads(threads)),
            report,
        )
    n_ids = model.columns.n_ids
    rows: list[tuple[int, int, int]] = []
    for pair in pairs.tolist():
        if next_id == last_id:
            break
        left, right = (part if part < n_ids else rows[part - n_ids][2] for part in pair)
        token = tokens[left] + tokens[right]
        token_id = not_made.pop(token, next_id)
        next_id += token_id == next_id
        tokens[token_id] = token
        rows.append((left, right, token_id))
    if n_lacking := core.n_vocab + extension.n_tokens - next_id:
        reason = shortage_text(counts.n_bytes, config, shortage)
        n = extension.n_tokens
        warn(f"{n - n_lacking} tokens were added instead of the requested {n}: {reason}")
    extended = model.with_tokens(
        tokens,
        np.concatenate([model.merges, np.array(rows, dtype=np.uint32).reshape(-1, 3)]),
        model.special_tokens,
        pattern=pattern_text(config.pattern),
        training=config.record() if extension.is_recorded else None,
    )
    if not extension.keep_ids:
        numbered = extension.numbered(extended)
        warn_of_moved(model, numbered)
        extended = numbered
    return extended.canonical_form()
