"""What the parts of a tokenizer.json have in common: dataclasses whose fields are its JSON, in the file's order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

from pairloom._internal.arguments import check_str, shown
from pairloom.errors import FormatError

__all__ = ["WHITE_SPACE", "AddedToken", "Component", "Regex", "component_of", "not_here", "pattern_node"]

WHITE_SPACE = frozenset(chr(code) for code in range(0x3001) if chr(code).isspace() and not 0x1C <= code <= 0x1F)
"""Unicode's White_Space; Python's isspace also takes U+001C to U+001F."""

_WHOLE_LIBRARY = "use the library tokenizers before 1.0 for it"


@dataclass(frozen=True)
class Regex:
    """A regular expression, where a plain str would be text to look for."""

    pattern: str


def pattern_node(pattern: Any) -> dict[str, str]:
    """The JSON of a pattern, a str or a Regex."""
    if isinstance(pattern, Regex):
        return {"Regex": pattern.pattern}
    return {"String": check_str("pattern", pattern)}


class Component:
    """A step of a tokenizer, a dataclass."""

    kind: ClassVar[str] = ""
    n_changes: ClassVar[int] = 0
    """How often any component was changed: what was made of one before may be out of date."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in [field.name for field in dataclasses.fields(self)]:  # type: ignore[arg-type]
            raise AttributeError(f"{type(self).__name__} has no setting {name!r}")
        Component.n_changes += 1
        object.__setattr__(self, name, value)

    def node(self) -> dict[str, Any]:
        """Its JSON."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"type": type(self).__name__, **{name: _plain(value) for name, value in values.items()}}

    @classmethod
    def of_node(cls, node: dict[str, Any]) -> Self:
        """The component of its JSON."""
        made = cls.__new__(cls)
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            has_default = field.default is not dataclasses.MISSING
            value = node.pop(field.name, field.default) if has_default else node.pop(field.name)
            setattr(made, field.name, value)
        if node:
            raise FormatError(f"{cls.__name__} has no setting {shown(next(iter(node)))}")
        if hasattr(made, "__post_init__"):
            made.__post_init__()
        return made


def _plain(value: Any) -> Any:
    return (
        [_plain(each) for each in value]
        if isinstance(value, list)
        else (value.node() if isinstance(value, Component) else value)
    )


def component_of(module: dict[str, Any], kind: str, node: Any) -> Any:
    """The component of a module by its JSON; None for null. FormatError for one that is not taken."""
    if node is None:
        return None
    try:
        name = node["type"]
        found = module.get(name)
        if not (isinstance(found, type) and issubclass(found, Component) and found.kind == kind):
            raise FormatError(f"the {kind} {shown(name)} is not taken; {_WHOLE_LIBRARY}")
        fields = {key: value for key, value in node.items() if key != "type"}
        for key in ("normalizers", "pretokenizers", "decoders", "processors"):
            if key in fields:
                fields[key] = [component_of(module, kind, each) for each in fields[key]]
        made: Any = found.of_node(fields)
    except (TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{kind}: {shown(node)} is damaged ({error})") from None
    return made


def not_here(module: str, name: str) -> NoReturn:
    """Raises AttributeError for what a module of the library has, but this one does not take."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"pairloom.dropin.tokenizers.{module} does not take {name}; {_WHOLE_LIBRARY}")


def module_getattr(module: str) -> Callable[[str], NoReturn]:
    """`__getattr__` of such a module."""
    return lambda name: not_here(module, name)


@dataclass(eq=True)
class AddedToken:
    """A token with rules of its own, as the library has it; normalized is `not special` unless it is given."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool | None = None
    special: bool = False

    def __post_init__(self) -> None:
        check_str("content", self.content)
        if not self.content:
            raise ValueError("an added token must not be empty; leave it out")
        # Not given, it follows what the token becomes: see `of`.
        self._follows = self.normalized is None
        if self._follows:
            self.normalized = not self.special

    def __str__(self) -> str:
        return self.content

    @staticmethod
    def of(token: Any, special: bool) -> AddedToken:
        """The token of a str, or a copy of an AddedToken, that counts as special where asked to."""
        if isinstance(token, str):
            return AddedToken(token, special=special)
        try:
            fields = {field.name: getattr(token, field.name) for field in dataclasses.fields(AddedToken)}
        except AttributeError:
            raise TypeError(f"a token must be a str or an AddedToken, not {type(token).__name__}") from None
        fields["special"] |= special
        return AddedToken(**fields | ({"normalized": None} if getattr(token, "_follows", False) else {}))
