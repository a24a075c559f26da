"""Shows the stages from a text to ids one by one, to find which stage made an unexpected id."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pairloom.analysis.render import shown_token
from pairloom.model import CHARACTERS
from pairloom.offsets import recognised
from pairloom.view.merging import merge_lookup, merged
from pairloom.view.payload import pretoken_lengths

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer


def stages(tokenizer: Tokenizer, text: str) -> list[str]:
    """Returns lines that show how `text` is normalised, cut at special tokens, split into pretokens and merged.

    The merges follow the definition. If the core returns other ids for a pretoken, a line says so.
    """
    model, tokens = tokenizer.model, tokenizer.model.tokens()
    lookup = merge_lookup(model, tokens)
    id_of = {token: token_id for token_id, token in tokens.items()}
    literals = {token_id: literal for literal, token_id in tokenizer.special_tokens.items()}
    ids = tokenizer.encode_to_numpy(text)
    lines = [f"text: {text!r}"]
    if model.normalizer:
        lines.append(
            f"after {', '.join(model.normalizer_names)}: {tokenizer.decode_bytes(ids).decode(errors='replace')!r}"
        )
    if model.pattern == CHARACTERS:
        lines += [f"token {(literals.get(i) or tokens[i].decode())!r}: {i}" for i in ids.tolist()]
        return [*lines, "merging starts from characters; its steps are not shown"]
    is_special = recognised(tokenizer, text, ids)
    ends = np.cumsum(pretoken_lengths(tokenizer, text, ids, "recognise"), dtype=np.int64)
    for start, end in pairwise([0, *ends.tolist()]):
        found = ids[start:end].tolist()
        if is_special[start]:
            lines.append(f"special token {literals[found[0]]!r}: {found[0]}")
            continue
        pretoken = b"".join(tokens[token_id] for token_id in found)
        whole = id_of.get(pretoken) if model.ignore_merges else None
        merges = merged([id_of.get(pretoken[at : at + 1]) for at in range(len(pretoken))], lookup)
        lines.append(f"pretoken {shown_token(pretoken)}: {' '.join(map(str, found))}")
        if whole is not None:
            lines.append("  it is a token, so ignore_merges uses it without merging")
        else:
            lines += [
                f"  merge of rank {rank}: {shown_token(tokens[left])} + {shown_token(tokens[right])} = {merged_id}"
                for rank, left, right, merged_id in merges.done
            ]
        if found != ([whole] if whole is not None else merges.symbols):
            lines.append(f"  the definition says {merges.symbols if whole is None else [whole]}: report this")
    return lines
