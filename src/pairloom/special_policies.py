"""`allowed_special` and `disallowed_special`: which special tokens a call recognises, and which raise an error."""

from collections.abc import Collection
from typing import Any, Final, Literal

from pairloom import _core
from pairloom._internal.arguments import check_iterable
from pairloom.model import Model

Allowed = Literal["all"] | Collection[str]

ALL: Final = "all"
NONE: Final = ()
"""The default arguments; a call with both defaults needs no policy."""


def policy_of(
    model: Model, allowed: frozenset[str] | None, disallowed: frozenset[str] | None
) -> _core.SpecialPolicy | None:
    """Returns the policy for these `literals`; None for the default, which recognises all and refuses none."""
    if allowed is None and not disallowed:
        return None
    specials = model.special_tokens
    may = specials.keys() if allowed is None else allowed
    must_not = specials.keys() - may if disallowed is None else disallowed
    return _core.SpecialPolicy(
        allowed=[(token, i) for token, i in specials.items() if token in may],
        disallowed=sorted(must_not),
        # Naming a special token lifts the rule "ordinary", which keeps it as text.
        rules=[rule for rule in model.special_rules if allowed is None or rule[1] != "ordinary"],
    )


def literals(name: str, tokens: Any) -> frozenset[str] | None:
    """Returns the literals that a call names; None for "all"."""
    if isinstance(tokens, str) and tokens == "all":
        return None
    check_iterable(name, "str", tokens)
    named = list(tokens)
    for literal in named:
        if not isinstance(literal, str):
            raise TypeError(f"{name} must contain str, not {type(literal).__name__}")
    return frozenset(named)
