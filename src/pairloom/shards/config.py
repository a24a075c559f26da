"""Checks the options of a run that writes shards, and returns them as its manifest records them."""

import hashlib
from typing import Any

from pairloom._internal.arguments import check_bool, check_choice, check_int
from pairloom._internal.optional_deps import import_pyarrow
from pairloom.shards.files import FORMATS, dtype_of
from pairloom.shards.manifest import Manifest
from pairloom.tokenizer import Tokenizer

SHARD_TOKENS = 100_000_000
"""Default number of tokens after which a shard ends."""

_MAX_LISTED = 20


def run_config(
    tokenizer: Tokenizer,
    *,
    format: str,
    eot: str | bool | None,
    bos: str | bool | None,
    specials: str,
    shard_tokens: int,
    duplicates: str = "keep",
    provenance: bool = False,
    id_field: str | None = None,
) -> dict[str, Any]:
    """Checks the options of `tokenize_files`; returns them with the ids of eot and bos. ValueError, TypeError."""
    check_choice("duplicates", duplicates, ("keep", "count", "drop"))
    check_choice("format", format, FORMATS)
    check_choice("specials", specials, ("ordinary", "recognise", "error"))
    check_int("shard_tokens", shard_tokens, least=1)
    if check_bool("provenance", provenance):
        import_pyarrow("pyarrow.parquet")
    elif id_field is not None:
        raise ValueError("id_field is used only with provenance; pass provenance=True")
    chosen = {"eot": _special_named("eot", eot, tokenizer), "bos": _special_named("bos", bos, tokenizer)}
    ids = {f"{name}_id": None if token is None else tokenizer.special_tokens[token] for name, token in chosen.items()}
    selection = {} if duplicates == "keep" else {"duplicates": duplicates}
    origins = {"provenance": True, "id_field": id_field} if provenance else {}
    return {"format": format, **chosen, **ids, "specials": specials, "shard_tokens": shard_tokens} | selection | origins


def _special_named(name: str, token: Any, tokenizer: Tokenizer) -> str | None:
    """Returns the special token that `eot` or `bos` names, None for no token."""
    specials = list(tokenizer.special_tokens)
    shown = ", ".join(map(repr, specials[:_MAX_LISTED]))
    if len(specials) > _MAX_LISTED:
        shown += f" and {len(specials) - _MAX_LISTED} more"
    if token is None or token is False:
        return None
    if not specials:
        raise ValueError(f"{name} needs a special token, but the tokenizer has none; add one to it")
    if token is True:
        if len(specials) > 1:
            raise ValueError(f"{name} must be one of the tokenizer's {len(specials)} special tokens: {shown}")
        return specials[0]
    if not isinstance(token, str):
        raise TypeError(f"{name} must be a special token (str) or a bool, not {type(token).__name__}")
    if token not in tokenizer.special_tokens:
        raise ValueError(f"{name} must be a special token of the tokenizer, which has {shown}; not {token!r}")
    return token


def model_digest(tokenizer: Tokenizer) -> str:
    """Returns the SHA-256 of the tokenizer's native file, by which a manifest identifies it."""
    return hashlib.sha256(tokenizer.native_file()).hexdigest()


def new_manifest(tokenizer: Tokenizer, config: dict[str, Any], inputs: list[dict[str, Any]]) -> Manifest:
    """Returns the manifest of a folder without shards."""
    format = config["format"]
    return Manifest(
        model=model_digest(tokenizer),
        config=config,
        inputs=inputs,
        format=format,
        dtype=dtype_of(format, tokenizer.n_vocab).str,
        n_vocab=tokenizer.n_vocab,
    )
