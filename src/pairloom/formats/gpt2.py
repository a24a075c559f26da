"""Reads and writes GPT-2's files vocab.json (token -> id) and merges.txt (a pair a line), in the GPT-2 byte alphabet.

Neither file says which tokens are special or which pattern splits the text, so the caller passes the special tokens,
and the pattern if it is not GPT-2's. merges.txt can begin with a `#version` line. An entry of vocab.json that is not
in the byte alphabet (a special token with a space in it) is taken literally.
"""

import json
import os
from pathlib import Path

from pairloom import _core
from pairloom._internal.arguments import as_text
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError
from pairloom.formats.reader import Specials, model_of, named
from pairloom.formats.shared.added_tokens import with_special_tokens
from pairloom.formats.shared.post_processor import check_none
from pairloom.model import Model, Pattern
from pairloom.patterns import GPT2

VOCAB_NAME = "vocab.json"
MERGES_NAME = "merges.txt"


def read_pair(
    vocab_path: str | os.PathLike[str],
    merges_path: str | os.PathLike[str],
    *,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
) -> Model:
    """Reads the two files. A special token takes its entry's id, else the next id after the largest.

    Warns about tokens that the merges never make: special tokens that are not passed, or merges that are missing.
    """
    # Imported here because it imports NumPy.
    from pairloom.vocabulary import unreachable_text

    vocab, merges = os.fspath(vocab_path), os.fspath(merges_path)
    files = (Path(vocab).read_bytes(), as_text(vocab), Path(merges).read_bytes(), as_text(merges))
    model = model_of(_core.read_gpt2(*files, pattern, named(special_tokens)), as_text(vocab))
    if (text := unreachable_text(model)) is not None:
        warn(f"{merges}: {text}")
    return model


def write(model: Model) -> dict[str, bytes]:
    """Returns the folder's files by name. Raises FormatError if they cannot express the model exactly.

    Special tokens become literal entries, which a reader treats as special only if the caller lists them. decode_errors
    is not stored.
    """
    check_none(model, "a folder of GPT-2's files")
    if model.rule != "pairs" or model.ignore_merges:
        raise FormatError(
            "GPT-2's files cannot store a tokenizer that looks up whole pretokens or merges by ranks; save it as "
            "'huggingface' or 'pairloom'"
        )
    if model.pattern != GPT2:
        raise FormatError(
            "GPT-2's files do not store a pattern, and readers assume GPT-2's; save a tokenizer with another pattern "
            "as 'huggingface' or 'pairloom'"
        )
    tokens = model.tokens()
    text_of = {token_id: to_alphabet(token) for token_id, token in tokens.items()}
    vocab = with_special_tokens(text_of, model.special_tokens, "GPT-2's vocab.json")
    lines = [f"{text_of[left]} {text_of[right]}" for left, right, _ in model.merges.tolist()]
    ordered = dict(sorted(vocab.items(), key=lambda entry: entry[1]))
    return {
        VOCAB_NAME: json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode(),
        MERGES_NAME: "\n".join(["#version: 0.2", *lines, ""]).encode(),
    }
