"""The library's post-processors, as in a tokenizer.json; `pairloom.post_processing` runs them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from pairloom._internal.arguments import check_str, shown
from pairloom.dropin.tokenizers.components import Component, Steps
from pairloom.post_processing import post_processor_of

Piece = dict[str, dict[str, Any]]


class PostProcessor(Component):
    """A step that adds special tokens around encoded texts, or adjusts their offsets."""

    kind: ClassVar[str] = "post-processor"

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Returns how many special tokens it adds to one text, or to a pair."""
        return post_processor_of(json.dumps(self.node())).n_added(is_pair)


@dataclass(eq=False)
class ByteLevel(PostProcessor):
    """Removes spaces from the offsets of tokens."""

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True


@dataclass(eq=False)
class BertProcessing(PostProcessor):
    """BERT's template."""

    renamed: ClassVar[dict[str, str]] = {"cls_token": "cls"}
    sep: tuple[str, int]
    cls_token: tuple[str, int]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("sep", self.sep), ("cls_token", self.cls_token)):
            if not isinstance(value, (tuple, list)) or [type(each) for each in value] != [str, int]:
                raise TypeError(f"{name} must be a pair (token, id), not {shown(value)}")


@dataclass(eq=False)
class RobertaProcessing(BertProcessing):
    """RoBERTa's template."""

    trim_offsets: bool = True
    add_prefix_space: bool = True


@dataclass(eq=False)
class TemplateProcessing(PostProcessor):
    """Adds special tokens around one text or a pair, by a template: "[CLS] $A [SEP] $B:1 [SEP]:1"."""

    single: list[Piece]
    pair: list[Piece]
    special_tokens: dict[str, dict[str, Any]]

    def __init__(self, single: Any = None, pair: Any = None, special_tokens: Iterable[Any] | None = None) -> None:
        self.single = _template("$0" if single is None else single)
        self.pair = _template("$A:0 $B:1" if pair is None else pair)
        special_tokens = special_tokens.values() if isinstance(special_tokens, dict) else special_tokens
        self.special_tokens = dict(_special(token) for token in special_tokens or ())
        self.__post_init__()
        used = {piece["Sequence"]["id"] for piece in self.pair if "Sequence" in piece}
        if used != {"A", "B"}:
            raise ValueError("the template of a pair must contain both texts, $A and $B")
        names = [piece["SpecialToken"]["id"] for piece in self.single + self.pair if "SpecialToken" in piece]
        if missing := sorted(set(names) - self.special_tokens.keys()):
            raise ValueError(f"special_tokens lacks {shown(missing[0])}, which the template uses")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._put("special_tokens", dict(sorted(self.special_tokens.items())))


def _template(given: Any) -> list[Piece]:
    """Returns the pieces of a template, given as a str or a list of str."""
    pieces = given.split(" ") if isinstance(given, str) else given
    return [each if isinstance(each, dict) else _piece(check_str("a piece of a template", each)) for each in pieces]


def _piece(text: str) -> Piece:
    name, colon, type_id = text.rpartition(":")
    if not (colon and type_id.isascii() and type_id.isdecimal()):
        name, type_id = text, "0"
    if not name.startswith("$"):
        return {"SpecialToken": {"id": name, "type_id": int(type_id)}}
    sequence = name[1:].upper() or "A"
    if sequence.isdecimal():
        sequence, type_id = "A", sequence
    if sequence not in ("A", "B"):
        raise ValueError(f"a template cannot contain {shown(text)}; its texts are $A and $B")
    return {"Sequence": {"id": sequence, "type_id": int(type_id)}}


def _special(token: Any) -> tuple[str, dict[str, Any]]:
    """Returns a template's special token as (name, its JSON)."""
    if isinstance(token, dict):
        return token["id"], {"id": token["id"], "ids": list(token["ids"]), "tokens": list(token["tokens"])}
    text, token_id = token if isinstance(token[0], str) else reversed(token)
    if not isinstance(text, str) or not isinstance(token_id, int):
        raise TypeError(f"special_tokens must be pairs of a token and its id, not {shown(token)}")
    return text, {"id": text, "ids": [token_id], "tokens": [text]}


@dataclass(eq=False)
class Sequence(Steps, PostProcessor):
    """Runs steps one after the other."""

    processors: list[PostProcessor]
