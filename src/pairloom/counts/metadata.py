"""CountsMetadata: how a corpus was cut into pretokens. Counts can be added only if theirs agree."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import check_choice, check_special_tokens
from pairloom.errors import CountsError
from pairloom.model import Pattern
from pairloom.patterns import pattern_name, pattern_text


@dataclass(frozen=True, slots=True)
class CountsMetadata:
    """How the corpus was split into pretokens; counts can be added only if it agrees.

    min_count: counts below it were left out (`PretokenCounts.pruned`); 1 if none were.
    """

    pattern: Pattern
    special_tokens: tuple[str, ...] = ()
    corpus_specials: str = "text"
    unicode_version: str = _core.UNICODE_VERSION
    min_count: int = 1

    def check_addable(self, other: "CountsMetadata") -> None:
        """Raises CountsError naming the first difference, or if counts were pruned. Subtraction needs it too."""
        for field in dataclasses.fields(self):
            mine, theirs = (getattr(metadata, field.name) for metadata in (self, other))
            if field.name != "min_count" and mine != theirs:
                if field.name == "pattern":
                    mine, theirs = pattern_name(mine) or mine, pattern_name(theirs) or theirs
                raise CountsError(
                    f"counts made with different settings cannot be added or subtracted: {field.name} is {mine!r} "
                    f"here and {theirs!r} there; count both with the same pattern and special tokens"
                )
        if max(self.min_count, other.min_count) > 1:
            raise CountsError(
                f"counts that were pruned (min_count {max(self.min_count, other.min_count)}) cannot be added or "
                "subtracted, because a pretoken that is rare in each can be frequent in the sum; add first, then "
                "prune"
            )

    def as_stored(self) -> dict[str, Any]:
        """Returns the fields as files store them."""
        stored = dataclasses.asdict(self)
        if self.min_count == 1:
            del stored["min_count"]
        return stored


def checked_metadata(pattern: Pattern, special_tokens: Sequence[str], corpus_specials: str) -> CountsMetadata:
    """Returns the metadata for counting with these arguments; ValueError or TypeError if they are wrong."""
    check_choice("corpus_specials", corpus_specials, ("text", "split"))
    return CountsMetadata(pattern_text(pattern), check_special_tokens(special_tokens), corpus_specials)
