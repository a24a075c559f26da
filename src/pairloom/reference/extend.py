"""Training that continues from the merges of a model, by its definition.

The corpus is split by the pattern, the model's merges are applied to each pretoken in their order, and training goes on
from there: count all pairs, take the best, replace it, repeat. So the result is that of training whose first merges
were the model's. With another pattern than the model's the new merges may cross what the old pattern kept apart: with
whole lines as pretokens they make superwords (SuperBPE, Liu et al. 2025, arXiv 2503.13423).
"""

from collections.abc import Iterable
from typing import Literal

from pairloom._internal.arguments import check_texts
from pairloom.reference.documents import documents_of
from pairloom.reference.naive import TieBreak, apply_merge, learn_merges
from pairloom.reference.pretokens import count_pretokens
from pairloom.reference.vocabulary import Model


def extend(
    documents: str | Iterable[str],
    model: Model,
    n_merges: int,
    pattern: str | tuple[str, ...] | None = None,
    *,
    corpus_specials: Literal["text", "split"] = "text",
    tie_break: TieBreak = "ids_least",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
) -> Model:
    """The model with up to `n_merges` more merges, and with the pattern, its own where none is given.

    >>> start = Model.of_bytes([(97, 98)], {"<|endoftext|>": 257})
    >>> more = extend(["ab ab ab"], start, 1)
    >>> more.merges[1:], more.special_tokens
    ([Merge(left=32, right=256, merged_id=257)], {'<|endoftext|>': 258})

    The model must have merges. New ids follow those of its merges; special tokens that come after these move up, as
    training to the larger size would have put them.
    """
    pattern = model.pattern if pattern is None else pattern
    if isinstance(documents, str):
        documents = [documents]
    check_texts("documents", documents)
    if corpus_specials == "split":
        documents = (part for document in documents for part in documents_of(document, model.special_tokens))
    words = []
    for pretoken, count in count_pretokens(documents, pattern).items():
        ids = [model.id_of_byte[byte] for byte in pretoken]
        for left, right, merged_id in model.merges:
            ids = apply_merge(ids, (left, right), merged_id)
        words.append((ids, count))
    vocab = dict(model.vocab)
    first_id = model.merges[-1].merged_id + 1
    learned = learn_merges(
        words, vocab, n_merges, first_id, tie_break, min_frequency=min_frequency, max_token_bytes=max_token_bytes
    )
    specials = {
        token: token_id + len(learned) if token_id >= first_id else token_id
        for token, token_id in model.special_tokens.items()
    }
    return Model(vocab, model.merges + learned, specials, pattern, model.normalizer)
