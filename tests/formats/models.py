"""Models for the tests of formats: small ones of every kind, and random ones."""

import random

from pairloom import Tokenizer
from pairloom.formats import ranks
from pairloom.model import Model, Pattern
from pairloom.patterns import GPT2
from pairloom.reference import vocabulary as reference

ENDOFTEXT = "<|endoftext|>"


def trained(pairs: list[tuple[int, int]], **fields: object) -> Model:
    """The model of the "bpetite" profile with these merges."""
    tokens = {byte: bytes((byte,)) for byte in range(256)}
    rows = []
    for merged_id, (left, right) in enumerate(pairs, start=256):
        tokens[merged_id] = tokens[left] + tokens[right]
        rows.append((left, right, merged_id))
    model = Model.from_tokens(
        tokens, rows, special_tokens={ENDOFTEXT: len(tokens)}, pattern=GPT2, decode_errors="strict"
    )
    return model.replaced(**fields)


def reference_of(tokenizer: Tokenizer) -> reference.Model:
    """Converts the tokenizer for the reference; ranks become the merges that they imply."""
    model = tokenizer.model
    rows = model.merges if model.rule == "pairs" else ranks.pairs(model)
    merges = [reference.Merge(*row) for row in rows.tolist()]
    return reference.Model(model.tokens(), merges, tokenizer.special_tokens, tokenizer.pattern)


def random_model(seed: int) -> Model:
    """A random model with gaps, any rule, any specials; schema 2 must be able to store it."""
    rng = random.Random(seed)
    ids = rng.sample(range(2000), 400)
    rng.shuffle(ids)
    free = iter(ids)
    tokens: dict[int, bytes] = {}
    id_of: dict[bytes, int] = {}

    def add(token: bytes) -> int:
        if token not in id_of:
            id_of[token] = next(free)
            tokens[id_of[token]] = token
        return id_of[token]

    for byte in range(rng.choice([3, 256])):
        add(bytes((byte,)))
    rows: dict[tuple[int, int], int] = {}
    by_rank = rng.random() < 0.3
    for _ in range(rng.randrange(40)):
        left, right = rng.choice(list(tokens)), rng.choice(list(tokens))
        rows[left, right] = add(tokens[left] + tokens[right])
    for _ in range(rng.randrange(4)):
        add(rng.randbytes(rng.randrange(2, 400)))
    patterns: list[Pattern] = [GPT2, (r"\p{N}", GPT2), (GPT2,), "\\S+|\\s+|é"]
    order = list(rows.items())
    rng.shuffle(order)
    specials = {text: next(free) for text in rng.sample([ENDOFTEXT, "é😀", '"\\', "\x00", "ab", " "], rng.randrange(5))}
    return Model.from_tokens(
        tokens,
        [] if by_rank else [(left, right, merged_id) for (left, right), merged_id in order],
        rule="ranks" if by_rank else "pairs",
        ignore_merges=rng.random() < 0.5,
        special_tokens=specials,
        pattern=rng.choice(patterns),
        decode_errors=rng.choice(["strict", "replace", "ignore"]),
        plain_specials=rng.sample(sorted(specials), rng.randrange(len(specials) + 1)),
    )
