"""Encoding and decoding by their definitions.

Special tokens are split off first, by their rules: left to right, the longest match wins. The text between them is
normalised by the model's steps and split into pretokens. Each pretoken is merged separately: always the leftmost pair
of the lowest rank.
Cost of a pretoken: quadratic in its length.
"""

import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Literal, cast

import regex

from pairloom.reference.pretokens import pretokenize
from pairloom.reference.special_rules import split_by_rules
from pairloom.reference.vocabulary import Model

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


def encode(
    text: str,
    model: Model,
    *,
    allowed_special: Literal["all"] | Collection[str] = "all",
    disallowed_special: Literal["all"] | Collection[str] = (),
) -> list[int]:
    """Turns text into ids, recognising all special tokens or only the allowed ones.

    >>> encode("ab<|endoftext|>ab", Model.of_bytes([(97, 98)], {"<|endoftext|>": 257}))
    [256, 257, 256]

    Special tokens that are not allowed are plain text. Raises ValueError that names token and position if the text
    contains a disallowed one ("all" means all that are not allowed), and ValueError that names a byte without a token.
    """
    ids: list[int] = []
    for part in cut(text, model, allowed_special, disallowed_special):
        ids += [part] if isinstance(part, int) else encode_pretoken(part, model)
    return ids


def cut(
    text: str,
    model: Model,
    allowed_special: Literal["all"] | Collection[str],
    disallowed_special: Literal["all"] | Collection[str],
) -> Iterator[int | bytes]:
    """Yields the ids of special tokens in a text and the pretokens between them; the arguments are as in `encode`."""
    allowed = model.special_tokens if allowed_special == "all" else set(allowed_special)
    specials = {token: token_id for token, token_id in model.special_tokens.items() if token in allowed}
    refuse(text, model.special_tokens.keys() - specials if disallowed_special == "all" else disallowed_special, model)
    # The rule "ordinary" does not apply to a token that the caller names.
    rules = [rule for rule in model.special_rules if allowed_special == "all" or rule[1] != "ordinary"]
    for piece, literal in split_by_rules(text, specials, rules):
        if literal is not None:
            yield specials[literal]
        else:
            yield from pretokenize(normalize(piece, model.normalizer), model.pattern)


# Characters newer than Unicode 9.0 that a form of Unicode 16.0 would change, sort or compose.
_NEWER = regex.compile(
    "(["
    "\u07fd\u0897-\u089f\u08ca-\u08d3\u09fe\u0c3c\u0d3b\u0d3c\u0eba\u1715\u1abf-\u1ace\u1df6-\u1dfa\u32ff"
    "\ua7f2-\ua7f4\ua82c\uab69\U000105c9\U000105d2\U000105da\U000105e4\U00010781-\U00010785"
    "\U00010787-\U000107b0\U000107b2-\U000107ba\U00010d24-\U00010d27\U00010d69-\U00010d6d\U00010eab\U00010eac"
    "\U00010efd-\U00010eff\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011070\U0001133b\U00011382-\U00011385"
    "\U0001138b\U0001138e\U00011390\U00011391\U000113b8\U000113bb\U000113c2\U000113c5\U000113c7-\U000113c9"
    "\U000113ce-\U000113d0\U0001145e\U00011839\U0001183a\U00011930\U00011935\U00011938\U0001193d\U0001193e"
    "\U00011943\U000119e0\U00011a34\U00011a47\U00011a99\U00011d42\U00011d44\U00011d45\U00011d97"
    "\U00011f41\U00011f42\U0001611e-\U00016129\U0001612f\U00016d63\U00016d67-\U00016d6a\U00016ff0\U00016ff1"
    "\U0001ccd6-\U0001ccf9\U0001e030-\U0001e06d\U0001e08f\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef"
    "\U0001e4ec-\U0001e4ef\U0001e5ee\U0001e5ef\U0001f16c\U0001fbf0-\U0001fbf9"
    "])"
)


def normalize(text: str, steps: Iterable[str]) -> str:
    """Applies the normaliser steps: a Unicode form by name, "lowercase", "prefix_space", or "words:" with a JSON list
    of patterns, which keeps the pieces that are not white space, each with a space after it.

    >>> normalize("e\u0301", ["nfc", "prefix_space"])
    ' é'
    >>> normalize("A  b,", ["lowercase", 'words:["[a-z]+"]'])
    'a b , '

    The forms are those of Unicode 9.0, as in HuggingFace's library: newer characters stay, and divide the text.
    """
    for step in steps:
        if step == "lowercase":
            # Character by character, so that a final sigma is treated like any other.
            text = "".join(map(str.lower, text))
        elif step.startswith("words:"):
            pieces = [piece.decode() for piece in pretokenize(text, tuple(json.loads(step.removeprefix("words:"))))]
            text = "".join(f"{piece} " for piece in pieces if regex.search(r"\S", piece))
        elif step != "prefix_space":
            parts = _NEWER.split(text)
            text = "".join(
                part if number % 2 else unicodedata.normalize(cast(Form, step.upper()), part)
                for number, part in enumerate(parts)
            )
        elif text and not text.startswith(" "):
            text = " " + text
    return text


def refuse(text: str, disallowed: Collection[str], model: Model) -> None:
    """Raises ValueError if the text contains any of these special tokens."""
    rules = [rule for rule in model.special_rules if rule[1] != "ordinary"]
    for index, (_, literal) in enumerate(pieces := split_by_rules(text, disallowed, rules)):
        if literal is not None:
            offset = len("".join(piece for piece, _ in pieces[:index]).encode())
            raise ValueError(
                f"the text contains the disallowed special token {literal!r} at byte {offset}; allow it, or remove it "
                "from disallowed_special to encode it as plain text"
            )


def encode_pretoken(pretoken: bytes, model: Model) -> list[int]:
    """Merges the leftmost pair of lowest rank until no pair can be merged.

    >>> encode_pretoken(b"abab", Model.of_bytes([(97, 98), (256, 256)]))
    [257]
    """
    missing = [byte for byte in pretoken if byte not in model.id_of_byte]
    if missing:
        raise ValueError(f"byte {missing[0]} (0x{missing[0]:02x}) is not in the vocabulary")
    ids = [model.id_of_byte[byte] for byte in pretoken]
    while True:
        candidates = [
            (model.rank_of_pair[pair], position)
            for position, pair in enumerate(pairwise(ids))
            if pair in model.rank_of_pair
        ]
        if not candidates:
            return ids
        rank, position = min(candidates)
        ids[position : position + 2] = [model.merges[rank].merged_id]


def decode(
    ids: Iterable[int],
    model: Model,
    errors: Literal["strict", "replace", "ignore"] = "strict",
    *,
    skip_special_tokens: bool = False,
) -> str:
    """Turns ids into text.

    >>> decode([256, 257], Model.of_bytes([(97, 98)], {"<|endoftext|>": 257}))
    'ab<|endoftext|>'

    Raises KeyError that names an unknown id, and UnicodeDecodeError if the bytes are not UTF-8, unless `errors` is
    "replace" (writes U+FFFD) or "ignore" (drops them). With `skip_special_tokens`, special tokens are removed first.
    """
    if skip_special_tokens:
        ids = [token_id for token_id in ids if token_id not in model.special_tokens.values()]
    token_of_id = {token_id: token.encode() for token, token_id in model.special_tokens.items()}
    token_of_id |= model.vocab
    tokens: list[bytes] = []
    for token_id in ids:
        if token_id not in token_of_id:
            raise KeyError(f"id {token_id} is not in the vocabulary of {len(token_of_id)} tokens")
        tokens.append(token_of_id[token_id])
    return b"".join(tokens).decode("utf-8", errors)
