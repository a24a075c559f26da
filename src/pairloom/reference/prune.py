"""Pruning of vocabularies, by its definition.

Remove the token that the corpus uses least, among those that no remaining merge needs; its uses become uses of its two
parts; repeat. So all remaining merges still work, and no remaining id changes.
Source: Purason, Chizhov, Yamshchikov and Fishel, "Teaching Old Tokenizers New Words" (2025, arXiv 2512.03989).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from pairloom.reference.encoder import encode_pretoken, normalize
from pairloom.reference.extend import extend
from pairloom.reference.pretokens import count_pretokens
from pairloom.reference.special_rules import split_by_rules
from pairloom.reference.vocabulary import Model, renumbered


def prune(
    documents: Iterable[str],
    model: Model,
    n_tokens: int,
    *,
    ignore_merges: bool = False,
    corpus_specials: Literal["text", "split"] = "split",
) -> Model:
    """Returns the model without `n_tokens` of its tokens and without the merges that make them.

    >>> prune(["ab ab aba"], Model.of_bytes([(97, 98), (256, 97)]), 1).merges
    [Merge(left=97, right=98, merged_id=256)]

    Bytes and special tokens stay. Among equally used tokens, the one with the largest id goes first. The uses of a
    token that several merges make go to the parts of the first merge. With `ignore_merges`, a pretoken that is a token
    is encoded as that token. Raises ValueError if fewer tokens can be removed.
    """
    if corpus_specials == "split":
        cut = (split_by_rules(document, model.special_tokens, model.special_rules) for document in documents)
        documents = (piece for pieces in cut for piece, literal in pieces if literal is None)
    documents = (normalize(document, model.normalizer) for document in documents)
    id_of = {token: token_id for token_id, token in model.vocab.items()}
    uses: Counter[int] = Counter()
    for pretoken, count in count_pretokens(documents, model.pattern).items():
        is_whole = ignore_merges and pretoken in id_of
        for token_id in [id_of[pretoken]] if is_whole else encode_pretoken(pretoken, model):
            uses[token_id] += count
    vocab, merges = dict(model.vocab), list(model.merges)
    for _ in range(n_tokens):
        needed = {part for merge in merges for part in (merge.left, merge.right)}
        kept = needed | set(model.special_tokens.values())
        leaves = [token_id for token_id, token in vocab.items() if len(token) > 1 and token_id not in kept]
        if not leaves:
            raise ValueError("there are no more tokens that can go")
        least = min(leaves, key=lambda token_id: (uses[token_id], -token_id))
        for merge in [merge for merge in merges if merge.merged_id == least][:1]:
            uses[merge.left] += uses[least]
            uses[merge.right] += uses[least]
        merges = [merge for merge in merges if merge.merged_id != least]
        del vocab[least]
    return Model(vocab, merges, model.special_tokens, model.pattern, model.normalizer, model.special_rules)


def compact(model: Model) -> Model:
    """Returns the model with its ids renumbered 0, 1, ... in the same order.

    >>> compact(Model({97: b"a", 98: b"b"}, [], {"<s>": 200})).special_tokens
    {'<s>': 2}
    """
    ids = sorted({*model.vocab, *model.special_tokens.values()})
    return renumbered(model, {token_id: number for number, token_id in enumerate(ids)})


def adapt(
    documents: list[str],
    model: Model,
    n_tokens: int,
    *,
    ignore_merges: bool = False,
    corpus_specials: Literal["text", "split"] = "text",
    **options: Any,
) -> Model:
    """Returns the model with up to `n_tokens` tokens replaced by those that training on the documents would add.

    A removed token that is learned again gets its old id; the others take the freed ids, in ascending order.
    `options` are those of `extend`.
    """
    both: Any = {"ignore_merges": ignore_merges, "corpus_specials": corpus_specials}
    smaller = prune(documents, model, n_tokens, **both)
    larger = extend(documents, smaller, n_tokens, **both, **options)
    free = {model.vocab[token_id]: token_id for token_id in model.vocab.keys() - smaller.vocab.keys()}
    added = [token_id for token_id in larger.vocab if token_id not in smaller.vocab]
    new_id = {i: free.pop(larger.vocab[i]) for i in added if larger.vocab[i] in free}
    rest = iter(sorted(free.values()))
    return renumbered(larger, new_id | {i: next(rest) for i in sorted(added) if i not in new_id})
