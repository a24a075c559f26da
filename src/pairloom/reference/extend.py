"""Training that continues from the merges of a model, by its definition.

The corpus is normalised and split by the pattern, and the model's merges are applied to each pretoken in rank order.
Training continues from there: count all pairs, take the best, replace it, repeat. So the result is that of a training
run whose first merges were the model's. Ids stay, or are renumbered as by a single training run.
With another pattern than the model's, new merges can cross boundaries of the old pattern: with whole lines as pretokens
they make superwords (SuperBPE, Liu et al. 2025, arXiv 2503.13423).
"""

from collections.abc import Iterable
from typing import Any, Literal

from pairloom._internal.arguments import check_texts
from pairloom.reference.encoder import encode_pretoken, normalize
from pairloom.reference.naive import TieBreak, apply_merge, learn_merges
from pairloom.reference.pretokens import count_pretokens
from pairloom.reference.special_rules import split_by_rules
from pairloom.reference.vocabulary import Merge, Model, numbered_as_trained


def extend(
    documents: str | Iterable[str],
    model: Model,
    n_tokens: int,
    pattern: str | tuple[str, ...] | None = None,
    *,
    keep_ids: bool = True,
    ignore_merges: bool = False,
    corpus_specials: Literal["text", "split"] = "text",
    tie_break: TieBreak = "ids_least",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
) -> Model:
    """Returns the model with up to `n_tokens` more tokens, and with `pattern` unless it is None.

    >>> start = Model.of_bytes([(97, 98)], {"<|endoftext|>": 257})
    >>> more = extend(["ab ab ab"], start, 1)
    >>> more.merges[1:], more.special_tokens
    ([Merge(left=32, right=256, merged_id=258)], {'<|endoftext|>': 257})
    >>> more = extend(["ab ab ab"], start, 1, keep_ids=False)
    >>> more.merges[1:], more.special_tokens
    ([Merge(left=32, right=256, merged_id=257)], {'<|endoftext|>': 258})

    New tokens get the ids after the largest, special tokens included. If a new merge makes a token that the model has
    but no merge made so far, it takes that token's id and does not count. With `ignore_merges`, a pretoken that is a
    token is encoded as that token. `keep_ids=False` needs a model with merges.
    """
    pattern = model.pattern if pattern is None else pattern
    if isinstance(documents, str):
        documents = [documents]
    check_texts("documents", documents)
    if corpus_specials == "split":
        cut = (split_by_rules(document, model.special_tokens, model.special_rules) for document in documents)
        documents = (piece for pieces in cut for piece, literal in pieces if literal is None)
    documents = (normalize(document, model.normalizer) for document in documents)
    # Learning numbers the tokens without gaps (bytes first, each by id), so that ties do not depend on gaps in the ids.
    ids = sorted(model.vocab, key=lambda token_id: (len(model.vocab[token_id]) > 1, token_id))
    number_of = {token_id: number for number, token_id in enumerate(ids)}
    tokens = {number: model.vocab[token_id] for token_id, number in number_of.items()}
    made = {merge.merged_id for merge in model.merges}
    not_made = {token: i for i, token in model.vocab.items() if len(token) > 1 and i not in made}
    words = []
    for pretoken, count in count_pretokens(documents, pattern).items():
        # A single token has no pair to count.
        if not (ignore_merges and pretoken in model.vocab.values()):
            words.append(([number_of[token_id] for token_id in encode_pretoken(pretoken, model)], count))
    vocab, merges = dict(model.vocab), list(model.merges)
    next_id = max(*model.vocab, *model.special_tokens.values()) + 1
    last_id = next_id + n_tokens
    limits: Any = {"min_frequency": min_frequency, "max_token_bytes": max_token_bytes}
    while next_id < last_id and (learned := learn_merges(words, tokens, 1, len(ids), tie_break, **limits)):
        left, right, number = learned[0]
        words = [(apply_merge(word, (left, right), number), count) for word, count in words]
        token_id = not_made.pop(tokens[number], next_id)
        next_id += token_id == next_id
        ids.append(token_id)
        vocab[token_id] = tokens[number]
        merges.append(Merge(ids[left], ids[right], token_id))
    extended = Model(vocab, merges, model.special_tokens, pattern, model.normalizer, model.special_rules)
    if keep_ids:
        return extended
    return numbered_as_trained(extended, min(merge.merged_id for merge in model.merges))
