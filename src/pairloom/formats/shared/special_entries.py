"""Special tokens as entries of a vocabulary whose ordinary tokens are written in the byte alphabet.

Both kinds are strings and can collide: the special token "Ġa" is spelt like the ordinary token " a". A collision is
allowed only if both have the same id.
"""

from collections.abc import Mapping

from pairloom._internal.arguments import shown
from pairloom.errors import FormatError


def with_special_tokens(text_of: Mapping[int, str], special_tokens: Mapping[str, int], what: str) -> dict[str, int]:
    """All entries, token -> id; raises FormatError where a special token's string is an ordinary token's.

    text_of: the ordinary tokens in the byte alphabet.
    """
    entries = {text: token_id for token_id, text in text_of.items()}
    for literal, token_id in special_tokens.items():
        if entries.get(literal, token_id) != token_id or text_of.get(token_id, literal) != literal:
            raise FormatError(
                f"{what} cannot express the special token {shown(literal)} with id {token_id} beside the ordinary token"
                f" that is written {shown(literal)} in the GPT-2 byte alphabet or has its id; save as 'pairloom'"
            )
        entries[literal] = token_id
    return entries
