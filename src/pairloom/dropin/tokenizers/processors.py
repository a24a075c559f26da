"""The post-processors of the library as a tokenizer.json holds them; `pairloom.post_processing` runs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from pairloom._internal.arguments import check_bool, check_int, check_str, shown
from pairloom.dropin.tokenizers.components import Component, module_getattr

__all__ = ["BertProcessing", "ByteLevel", "PostProcessor", "RobertaProcessing", "Sequence", "TemplateProcessing"]

__getattr__ = module_getattr("processors")

Piece = dict[str, dict[str, Any]]


class PostProcessor(Component):
    """What is put around encoded texts."""

    kind: ClassVar[str] = "post-processor"


@dataclass(eq=False)
class ByteLevel(PostProcessor):
    """Takes spaces off the offsets of tokens."""

    add_prefix_space: bool = True
    trim_offsets: bool = True
    use_regex: bool = True

    def __init__(
        self, add_prefix_space: bool | None = None, trim_offsets: bool | None = None, use_regex: bool | None = None
    ) -> None:
        self.add_prefix_space = add_prefix_space is None or check_bool("add_prefix_space", add_prefix_space)
        self.trim_offsets = trim_offsets is None or check_bool("trim_offsets", trim_offsets)
        self.use_regex = use_regex is None or check_bool("use_regex", use_regex)


def _token(name: str, value: Any) -> list[Any]:
    """The JSON of a token with its id."""
    try:
        text, token_id = value
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (token, id), not {shown(value)}") from None
    return [check_str(name, text), check_int(f"the id of {name}", token_id, least=0)]


@dataclass(eq=False)
class BertProcessing(PostProcessor):
    """BERT's template."""

    sep: list[Any]
    cls: list[Any]

    def __init__(self, sep: Any, cls: Any) -> None:
        self.sep = _token("sep", sep)
        self.cls = _token("cls", cls)


@dataclass(eq=False)
class RobertaProcessing(PostProcessor):
    """RoBERTa's template."""

    sep: list[Any]
    cls: list[Any]
    trim_offsets: bool = True
    add_prefix_space: bool = True

    def __init__(self, sep: Any, cls: Any, trim_offsets: bool = True, add_prefix_space: bool = True) -> None:
        self.sep = _token("sep", sep)
        self.cls = _token("cls", cls)
        self.trim_offsets = check_bool("trim_offsets", trim_offsets)
        self.add_prefix_space = check_bool("add_prefix_space", add_prefix_space)


@dataclass(eq=False)
class TemplateProcessing(PostProcessor):
    """Special tokens around one text, or two: "[CLS] $A [SEP] $B:1 [SEP]:1"."""

    single: list[Piece]
    pair: list[Piece]
    special_tokens: dict[str, dict[str, Any]]

    def __init__(self, single: Any = None, pair: Any = None, special_tokens: Iterable[Any] | None = None) -> None:
        self.single = _template("$0" if single is None else single)
        self.pair = _template("$A:0 $B:1" if pair is None else pair)
        given = dict(_special(token) for token in special_tokens or ())
        self.special_tokens = dict(sorted(given.items()))
        used = {piece["Sequence"]["id"] for piece in self.pair if "Sequence" in piece}
        if used != {"A", "B"}:
            raise ValueError("the template of a pair must name both texts, $A and $B")
        names = [piece["SpecialToken"]["id"] for piece in self.single + self.pair if "SpecialToken" in piece]
        if missing := sorted(set(names) - given.keys()):
            raise ValueError(f"special_tokens lacks {shown(missing[0])}, which the template names")


def _template(given: Any) -> list[Piece]:
    """The pieces of a template, a str or a list of str."""
    return [
        _piece(check_str("a piece of a template", text))
        for text in (given.split() if isinstance(given, str) else given)
    ]


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
        raise ValueError(f"a template cannot have {shown(text)}; its texts are $A and $B")
    return {"Sequence": {"id": sequence, "type_id": int(type_id)}}


def _special(token: Any) -> tuple[str, dict[str, Any]]:
    """A special token of a template by its name."""
    if isinstance(token, dict):
        return token["id"], {"id": token["id"], "ids": list(token["ids"]), "tokens": list(token["tokens"])}
    text, token_id = token if isinstance(token[0], str) else reversed(token)
    return text, {"id": text, "ids": [token_id], "tokens": [text]}


@dataclass(eq=False)
class Sequence(PostProcessor):
    """Steps that follow each other."""

    processors: list[PostProcessor]

    def __post_init__(self) -> None:
        self.processors = list(self.processors)
        for step in self.processors:
            if not isinstance(step, PostProcessor):
                raise TypeError(f"a step must be a post-processor of this module, not {type(step).__name__}")
