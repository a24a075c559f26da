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

# Limit of the cache: the core builds a matcher for each policy.
_MAX_POLICIES = 16

_NO_LITERALS: frozenset[str] = frozenset()
# Recognises all special tokens and refuses none.
_DEFAULT = (None, _NO_LITERALS)


class SpecialPolicies:
    """The policies of a tokenizer, each built on first use and cached."""

    __slots__ = ("_cached", "_model")

    def __init__(self, model: Model) -> None:
        self._model = model
        self._cached: dict[tuple[frozenset[str] | None, frozenset[str] | None], _core.SpecialPolicy] = {}

    def __len__(self) -> int:
        return len(self._cached)

    def of(self, allowed: Allowed, disallowed: Allowed) -> _core.SpecialPolicy | None:
        """Returns the policy for these two arguments; None for the default, which recognises all special tokens."""
        key = _literals("allowed_special", allowed), _literals("disallowed_special", disallowed)
        if key == _DEFAULT:
            return None
        policy = self._cached.get(key)
        if policy is None:
            policy = self._policy(*key)
            if len(self._cached) >= _MAX_POLICIES:
                self._cached.clear()
            self._cached[key] = policy
        return policy

    def _policy(self, allowed: frozenset[str] | None, disallowed: frozenset[str] | None) -> _core.SpecialPolicy:
        specials = self._model.special_tokens
        may = specials.keys() if allowed is None else allowed
        must_not = specials.keys() - may if disallowed is None else disallowed
        return _core.SpecialPolicy(
            allowed=[(token, i) for token, i in specials.items() if token in may],
            disallowed=sorted(must_not),
            # Naming a special token lifts the rule "ordinary", which keeps it as text.
            rules=[rule for rule in self._model.special_rules if allowed is None or rule[1] != "ordinary"],
        )


def _literals(name: str, tokens: Any) -> frozenset[str] | None:
    """Returns the literals that a call names; None for "all"."""
    if isinstance(tokens, str) and tokens == "all":
        return None
    if type(tokens) is tuple and not tokens:
        return _NO_LITERALS
    check_iterable(name, "str", tokens)
    literals = list(tokens)
    for literal in literals:
        if not isinstance(literal, str):
            raise TypeError(f"{name} must contain str, not {type(literal).__name__}")
    return frozenset(literals)
