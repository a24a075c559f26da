"""The base of a tokenizer.json's parts: dataclasses whose fields are the part's JSON, in the file's order."""

import dataclasses
import json
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pairloom._internal.arguments import check_bool, check_choice, check_int, check_iterable, check_str, shown
from pairloom.errors import FormatError
from pairloom.formats.shared.json_text import camel_case

_BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
_STEPS = ("normalizers", "pretokenizers", "decoders", "processors")
_WHOLE_LIBRARY = "use the library tokenizers before 1.0 for it"


@dataclass(frozen=True)
class Regex:
    """A regular expression; a plain str in its place is searched for literally."""

    pattern: str


class Component:
    """A step of a tokenizer, as a dataclass. Its fields are its arguments, checked against their annotated types."""

    kind: ClassVar[str] = ""
    renamed: ClassVar[dict[str, str]] = {}
    """Maps an argument to its key in the JSON, if the two differ."""
    n_changes: ClassVar[int] = 0
    """How often components were changed after they were made. Anything derived before the last change is outdated."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name == "pattern":
                check_str("pattern", value.pattern if isinstance(value, Regex) else value)
            elif field.name == "behavior":
                check_choice("behavior", value, _BEHAVIORS)
            elif field.name in _STEPS:
                check_iterable(field.name, self.kind, value)
                self._put(field.name, list(value))
                for step in getattr(self, field.name):
                    if not isinstance(step, Component) or step.kind != self.kind:
                        raise TypeError(f"a step must be a {self.kind} of this module, not {type(step).__name__}")
            elif field.type is bool:
                check_bool(field.name, value)
            elif field.type is int:
                check_int(field.name, value, least=0)
            elif field.type is str or (field.type == str | None and value is not None):
                check_str(field.name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in [field.name for field in dataclasses.fields(self)]:  # type: ignore[arg-type]
            raise AttributeError(f"{type(self).__name__} has no setting {name!r}")
        if name in vars(self):
            # Check and convert a later change like an argument of the constructor.
            value = getattr(dataclasses.replace(self, **{name: value}), name)  # type: ignore[type-var]
            Component.n_changes += 1
        self._put(name, value)

    def _put(self, name: str, value: Any) -> None:
        """Sets a field without checks."""
        object.__setattr__(self, name, value)

    def __getstate__(self) -> bytes:
        return json.dumps(self.node(), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        vars(self).update(vars(component_of(type(self), json.loads(state))))

    @staticmethod
    def custom(_: Any) -> None:
        """Refuses a step written in Python, which no tokenizer.json can hold."""
        raise NotImplementedError(f"a step written in Python is not supported; {_WHOLE_LIBRARY}")

    def node(self) -> dict[str, Any]:
        """Returns the component's JSON."""
        node: dict[str, Any] = {"type": type(self).__name__}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name == "pattern":
                value = {"Regex": value.pattern} if isinstance(value, Regex) else {"String": value}
            elif field.name == "behavior":
                value = camel_case(value)
            elif field.name in _STEPS:
                value = [step.node() for step in value]
            node[self.renamed.get(field.name, field.name)] = value
        return node

    @classmethod
    def of_node(cls, node: dict[str, Any]) -> Self:
        """Makes the component from its JSON without the key "type"."""
        made = cls.__new__(cls)
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            has_default = field.default is not dataclasses.MISSING
            name = cls.renamed.get(field.name, field.name)
            value = node.pop(name, field.default) if has_default else node.pop(name)
            if field.name == "pattern":
                [(kind, value)] = value.items()
                value = Regex(value) if kind == "Regex" else value
            elif field.name == "behavior":
                value = next((each for each in _BEHAVIORS if camel_case(each) == value), value)
            setattr(made, field.name, value)
        if node:
            raise FormatError(f"{cls.__name__} has no setting {shown(next(iter(node)))}")
        # Nested steps in a file stay nested.
        (Component if isinstance(made, Steps) else cls).__post_init__(made)
        return made


class Steps(Component):
    """A sequence of steps, its only field. Nested sequences are flattened, except when loaded from a file."""

    @property
    def _field(self) -> str:
        return str(dataclasses.fields(self)[0].name)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        super().__post_init__()
        flat: list[Any] = []
        for step in getattr(self, self._field):
            flat += getattr(step, self._field) if isinstance(step, Steps) else [step]
        self._put(self._field, flat)

    def __getitem__(self, index: int) -> Any:
        return getattr(self, self._field)[index]

    def __setitem__(self, index: int, step: Component) -> None:
        steps = list(getattr(self, self._field))
        steps[index] = step
        setattr(self, self._field, steps)


def not_taken(*names: str) -> Any:
    """Returns placeholders for unsupported classes that scripts import beside BPE's; using one is an error."""

    def refuse(self: Any, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} is not supported, because training BPE does not need it; {_WHOLE_LIBRARY}"
        )

    return (type(name, (), {"__init__": refuse}) for name in names)


def component_of(like: type[Component], node: Any) -> Any:
    """Makes a component of the kind and module of `like` from its JSON; None for null. FormatError if unsupported."""
    if node is None:
        return None
    kind = like.kind
    try:
        found = vars(sys.modules[like.__module__]).get(node["type"])
        if not (isinstance(found, type) and issubclass(found, Component) and found.kind == kind):
            raise FormatError(f"the {kind} {shown(node['type'])} is not supported; {_WHOLE_LIBRARY}")
        fields = {
            key: [component_of(like, each) for each in value] if key in _STEPS else value
            for key, value in node.items()
            if key != "type"
        }
        return found.of_node(fields)
    except (TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{kind}: {shown(node)} is damaged ({error})") from None


@dataclass(repr=False)
class AddedToken:
    """The library's AddedToken, with rules for finding it. The default of `normalized` is `not special`."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool | None = None
    special: bool = False

    def __post_init__(self) -> None:
        if not check_str("content", self.content):
            raise ValueError("an added token must not be empty; leave it out")
        self.content.encode()  # UnicodeEncodeError for lone surrogates, which no file holds
        # If not given, `normalized` follows `special`, which `of` can still change.
        self._follows = self.normalized is None
        if self._follows:
            self.normalized = not self.special

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        names = "rstrip", "lstrip", "single_word", "normalized", "special"
        return f'AddedToken("{self.content}", {", ".join(f"{name}={getattr(self, name)}" for name in names)})'

    def __hash__(self) -> int:
        return hash(self.content)

    @staticmethod
    def of(token: Any, special: bool) -> "AddedToken":
        """Makes a token from a str, or copies an AddedToken; marks it as special if asked to."""
        if isinstance(token, str):
            return AddedToken(token, special=special)
        try:
            fields = {field.name: getattr(token, field.name) for field in dataclasses.fields(AddedToken)}
        except AttributeError:
            raise TypeError(f"a token must be a str or an AddedToken, not {type(token).__name__}") from None
        fields["special"] |= special
        return AddedToken(**fields | ({"normalized": None} if getattr(token, "_follows", False) else {}))
