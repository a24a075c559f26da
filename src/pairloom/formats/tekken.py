"""Writes Mistral's tekken.json: tokens by rank, special tokens, and the pattern.

Special tokens have the first ids; any other id is the rank plus their number. mistral-common runs the pattern with
tiktoken.
"""

import base64
import json

from pairloom.errors import FormatError
from pairloom.formats import ranks
from pairloom.formats.shared.post_processor import check_none
from pairloom.formats.shared.tiktoken_pattern import for_tiktoken
from pairloom.model import Model


def write(model: Model) -> bytes:
    """Returns the file's bytes. Raises FormatError if no tekken.json gives the same ids for every text."""
    check_none(model, "a tekken.json")
    for_tiktoken(model.pattern)
    tokens, n_specials = ranks.write(model), len(model.special_tokens)
    literals = sorted(model.special_tokens, key=lambda literal: model.special_tokens[literal])
    ids = [*(model.special_tokens[literal] for literal in literals), *tokens.values()]
    if ids != list(range(len(ids))) or list(tokens)[:256] != [bytes((byte,)) for byte in range(256)]:
        raise FormatError(
            "a tekken.json needs special tokens at the first ids, the 256 bytes by value after them, and all other "
            "tokens after that without a gap; this tokenizer differs, so save it as 'huggingface' or 'pairloom'"
        )
    file = {
        "config": {
            "pattern": model.pattern if isinstance(model.pattern, str) else model.pattern[0],
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": len(ids),
            "default_num_special_tokens": n_specials,
            "version": "v3",
        },
        "vocab": [
            {
                "rank": rank,
                "token_bytes": base64.b64encode(token).decode(),
                # None for a token that is not whole characters.
                "token_str": text if (text := token.decode(errors="ignore")).encode() == token else None,
            }
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": rank, "token_str": literal, "is_control": literal not in model.plain_specials}
            for rank, literal in enumerate(literals)
        ],
    }
    return json.dumps(file, ensure_ascii=False, separators=(",", ":")).encode()
