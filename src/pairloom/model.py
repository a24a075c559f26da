"""Model: everything that defines a tokenizer, as columns. Two tokenizers are equal if and only if their Models are.

File formats, training and callers build Models; the core builds its encoder from one. A Model is immutable. Its
constructor validates everything, which takes a few milliseconds for 100,000 tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pairloom import _core
from pairloom._internal.arguments import check_choice, check_int, check_special_tokens, shown

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DecodeErrors = Literal["strict", "replace", "replace_bytes", "replace_runs", "ignore"]
MergeRule = Literal["pairs", "ranks", "priorities"]
"""What can merge: the pairs of `merges`, or any two tokens whose joined bytes are a token, by id or by priority."""
Pattern = str | tuple[str, ...]

DECODE_ERRORS = ("strict", "replace", "replace_bytes", "replace_runs", "ignore")
"""How malformed bytes can be decoded. "replace_bytes" writes U+FFFD for each malformed byte, as SentencePiece does.
"replace_runs" writes it for every byte of a run of byte tokens if the run is not valid UTF-8, as HuggingFace does."""

CHARACTERS = "(?#characters)"
"""The pattern of tokenizers that merge characters instead of bytes, as SentencePiece does."""

NORMALIZERS = _core.NORMALIZERS
"""The normaliser steps that are plain names."""
DROP_STEP = "drop_missing_bytes"
"""The normaliser step that leaves out bytes without a token."""

CHARSMAP, UNKNOWN, UNKNOWN_EACH, WORDS = _core.NORMALIZER_PREFIXES
"""The prefixes of normaliser steps that carry data: a SentencePiece table in base64; the id for characters without a
token (two forms, see `Model`); a JSON list of the patterns that find words."""

_MAX_STEPS = 5

SPECIAL_RULES = ("after_space", "any_case", "lstrip", "nfc", "normalized", "ordinary", "rstrip", "single_word")
"""The rules that a special token can have."""

LARGEST_ID = 2**24 - 1
"""The largest id that a token can have."""

KEPT_TOKENIZER_JSON = "tokenizer.json"
"""The key of tokenizer_config for the parts of a tokenizer.json that are kept but not applied here (padding, ...)."""


class Model:
    """Ordinary tokens, how they merge, special tokens, pattern and decode errors. Immutable, with read-only arrays.

    columns: tokens and merges, checked by the core, which builds them from these arrays:
    token_ids: uint32 [n], strictly ascending; gaps are allowed.
    token_bytes: the concatenated bytes of all tokens, which are distinct and not empty. token_ends: uint64 [n], the end
    offset of each token in token_bytes.
    merges: uint32 [m, 3], rows (left id, right id, merged id) in rank order; empty under rule "ranks".
    rule: "pairs" merges exactly the pairs of `merges`; "ranks" merges any pair whose joined bytes are a token, lowest
    id first (what tiktoken does).
    ignore_merges: a pretoken that is a token becomes that token without merging (HuggingFace's ignore_merges). Always
    true under rule "ranks", as in tiktoken.
    special_tokens: literal -> id, ids distinct. They are kept apart from the tokens because both can have the same
    bytes. A special token that shares a token's id has that token's bytes.
    pattern: the text of the pretoken pattern, or a tuple of patterns, each splitting what the previous one left.
    plain_specials: the special tokens that HuggingFace counts as text; its decoding never skips them.
    post_processor: what HuggingFace puts around a text on request (BOS, EOS), as the canonical JSON of an object; None
    if nothing. It is kept for tokenizer.json and changes no ids here.
    tokenizer_config: the tokenizer_config.json of a model folder (bos_token, eos_token, chat_template and so on), as
    the canonical JSON of an object; None if there is none. It changes no ids.
    normalizer: steps that change each text between special tokens, in order, before it is split. Empty: no change.
    "nfc", "nfd", "nfkc", "nfkd" (Unicode 9.0), "lowercase"; "prefix_space", always last, puts a space before a text
    that does not begin with one. "drop_missing_bytes" removes bytes without a token from pretokens. "words:LIST" splits
    the text by the patterns of LIST, drops the white space, and puts a space after each remaining piece.
    "unknown:ID" and "unknown_each:ID" replace characters without a token by that id: one id for a run of them, or one
    for each. SentencePiece files use further steps.
    priorities: uint32 [n], only under rule "priorities" (SentencePiece's scores): the merge priority of each token.
    0 merges first; 2**32 - 1 marks a token that is matched as a whole and never merged. Any two neighbours whose joined
    bytes are a token merge; of equal priorities the leftmost goes first. Requires the pattern CHARACTERS.
    training: how the tokenizer was trained (`TrainingConfig.record`), as the canonical JSON of an object, so that
    training can continue; None if unknown. Comparing Models ignores it.
    special_rules: sorted (literal, rule) pairs, for special tokens that are recognised only in some places. The rules
    are SPECIAL_RULES; `reference.special_rules` defines them.

    Raises TypeError for columns of another type or shape, ValueError for a condition above that does not hold.
    """

    __slots__ = (
        "columns",
        "decode_errors",
        "ignore_merges",
        "normalizer",
        "pattern",
        "plain_specials",
        "post_processor",
        "special_rules",
        "special_tokens",
        "tokenizer_config",
        "training",
    )

    columns: _core.ModelColumns
    ignore_merges: bool
    special_tokens: Mapping[str, int]
    pattern: Pattern
    decode_errors: DecodeErrors
    plain_specials: frozenset[str]
    post_processor: str | None
    tokenizer_config: str | None
    normalizer: tuple[str, ...]
    special_rules: tuple[tuple[str, str], ...]
    training: str | None

    def __init__(
        self,
        columns: _core.ModelColumns,
        *,
        ignore_merges: bool,
        special_tokens: Mapping[str, int],
        pattern: Pattern,
        decode_errors: DecodeErrors,
        plain_specials: Iterable[str] = frozenset(),
        post_processor: str | None = None,
        tokenizer_config: str | None = None,
        normalizer: Sequence[str] = (),
        special_rules: Iterable[tuple[str, str]] = (),
        training: str | None = None,
    ) -> None:
        check_choice("decode_errors", decode_errors, DECODE_ERRORS)
        check_special_tokens(special_tokens)
        for literal, token_id in special_tokens.items():
            check_int(f"the id of special token {shown(literal)}", token_id, least=0, most=LARGEST_ID)
        if not isinstance(pattern, str) and not (isinstance(pattern, tuple) and pattern):
            raise TypeError(f"pattern must be a str or a tuple of str, not {shown(pattern)}")
        if isinstance(pattern, tuple) and len(pattern) == 1:
            pattern = pattern[0]
        plain = frozenset(plain_specials)
        if unknown := plain - special_tokens.keys():
            raise ValueError(f"plain_specials contains {shown(min(unknown, key=str))}, which is not a special token")
        texts = {"post_processor": post_processor, "tokenizer_config": tokenizer_config, "training": training}
        fields = {
            "columns": columns,
            "ignore_merges": ignore_merges or columns.ranks,
            "special_tokens": MappingProxyType(dict(special_tokens)),
            "pattern": pattern,
            "decode_errors": decode_errors,
            "plain_specials": plain,
            **{name: None if text is None else _canonical(name, text) for name, text in texts.items()},
            "normalizer": checked_normalizer(normalizer),
            "special_rules": _checked_rules(special_rules, special_tokens),
        }
        # As in Llama: encoding puts a space before each text, and decoding drops it.
        has_prefix = fields["pattern"] == CHARACTERS and "dummy_prefix" in normalizer
        if not has_prefix and any(rule == "after_space" for _, rule in special_rules):
            raise ValueError(
                "special_rules: 'after_space' needs a tokenizer that merges characters and the normalizer step "
                "'dummy_prefix'"
            )
        columns.check_special_tokens(list(special_tokens.items()))
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def replaced(self, **fields: Any) -> Model:
        """Returns the Model with some fields replaced; TypeError for an unknown name."""
        return Model(**{**{name: getattr(self, name) for name in self.__slots__}, **fields})

    def canonical_form(self) -> Model:
        """Returns the canonical form of a model that can be written as pairs or as ranks.

        So models that encode every text alike compare equal. The form is pairs if merging can make every token of
        several bytes, else ranks. A model without ignore_merges, or whose pairs differ from those that its ranks imply,
        is returned unchanged.
        """
        columns = self.columns.canonical_form() if self.ignore_merges else None
        return self if columns is None else self.replaced(columns=columns, ignore_merges=columns.ranks)

    def with_tokens(
        self,
        tokens: Mapping[int, bytes],
        merges: Sequence[tuple[int, int, int]] | npt.NDArray[np.uint32],
        special_tokens: Mapping[str, int],
        **fields: Any,
    ) -> Model:
        """Returns the Model with these tokens, merges and special tokens, and with `fields` replaced."""
        kept = {name: getattr(self, name) for name in (*self.__slots__, "rule") if name != "columns"}
        return Model.from_tokens(tokens, merges, **{**kept, "special_tokens": special_tokens, **fields})

    @property
    def token_ids(self) -> npt.NDArray[np.uint32]:
        """uint32 [n], strictly ascending."""
        return self.columns.token_ids

    @property
    def token_bytes(self) -> bytes:
        """The concatenated bytes of all tokens."""
        return self.columns.token_bytes

    @property
    def token_ends(self) -> npt.NDArray[np.uint64]:
        """uint64 [n]: the end offset of each token in `token_bytes`."""
        return self.columns.token_ends

    @property
    def merges(self) -> npt.NDArray[np.uint32]:
        """uint32 [m, 3]: left id, right id, merged id in rank order."""
        return self.columns.merges

    @property
    def rule(self) -> MergeRule:
        """The rule that decides what can merge; see `Model`."""
        return "ranks" if self.columns.ranks else "priorities" if self.columns.has_priorities else "pairs"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Model cannot be changed; model.replaced({name}=...) returns a changed copy")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Model cannot be changed")

    def without_merges(self) -> Model:
        """Returns a model that cuts and normalises texts like this one but never merges: each byte becomes one id.

        The ids of the 256 bytes follow this model's largest id. No byte is dropped. So its ids show exactly which bytes
        this model merges.
        """
        first = max([self.columns.n_ids, *(token_id + 1 for token_id in self.special_tokens.values())])
        return Model.from_tokens(
            {first + byte: bytes([byte]) for byte in range(256)},
            special_tokens=self.special_tokens,
            pattern=self.pattern,
            normalizer=[step for step in self.normalizer if step != DROP_STEP],
            special_rules=self.special_rules,
        )

    @classmethod
    def from_tokens(
        cls,
        tokens: Mapping[int, bytes],
        merges: Sequence[tuple[int, int, int]] | npt.NDArray[np.uint32] = (),
        *,
        rule: MergeRule = "pairs",
        ignore_merges: bool = False,
        special_tokens: Mapping[str, int] | None = None,
        decode_errors: DecodeErrors = "replace",
        **fields: Any,
    ) -> Model:
        """Builds a Model from a map id -> bytes and merges as id triples (left, right, merged).

        fields: other arguments of the constructor; `pattern` is required.
        """
        import numpy as np

        ids = sorted(tokens)
        lengths = np.fromiter((len(tokens[i]) for i in ids), dtype=np.uint64, count=len(ids))
        columns = _core.ModelColumns(
            token_ids=np.array(ids, dtype=np.uint32),
            token_bytes=b"".join(tokens[i] for i in ids),
            token_ends=np.cumsum(lengths, dtype=np.uint64),
            merges=np.asarray(merges, dtype=np.uint32).reshape(-1, 3),
            ranks=rule == "ranks",
        )
        rest = {"ignore_merges": ignore_merges, "special_tokens": special_tokens or {}, "decode_errors": decode_errors}
        return cls(columns, **{**rest, **fields})

    def check_merges_bytes(self, what: str) -> None:
        """Raises ValueError if this model merges characters or drops white space; the message begins with `what`."""
        if self.pattern == CHARACTERS:
            raise ValueError(f"{what}: not supported for a tokenizer that merges characters (like SentencePiece)")
        if self.words is not None:
            raise ValueError(f"{what}: not supported for a tokenizer that drops white space (like CLIP)")

    @property
    def usual_errors(self) -> DecodeErrors:
        """The decode_errors that other libraries use, and that loading their files sets."""
        return "replace_runs" if self.pattern == CHARACTERS else "replace"

    @property
    def normalizer_names(self) -> tuple[str, ...]:
        """The normalizer's steps in a readable form: without the data of steps that can have hundreds of kilobytes."""
        return tuple(step.partition(":")[0] if step.startswith((CHARSMAP, WORDS)) else step for step in self.normalizer)

    @property
    def unknown(self) -> tuple[int, bool] | None:
        """(id for characters without a token, whether a run of them becomes one id); None if there is no such id."""
        found = [step.partition(":") for step in self.normalizer if step.startswith((UNKNOWN, UNKNOWN_EACH))]
        return (int(found[0][2]), found[0][0] == UNKNOWN.rstrip(":")) if found else None

    @property
    def words(self) -> list[str] | None:
        """The patterns of the normalizer's "words:" step; None if there is no such step."""
        found = [step for step in self.normalizer if step.startswith(WORDS)]
        return json.loads(found[0].removeprefix(WORDS)) if found else None

    @property
    def strips(self) -> bool:
        """Whether some special token absorbs adjacent white space, which decoding does not restore."""
        return any(rule in ("lstrip", "rstrip") for _, rule in self.special_rules)

    def missing_bytes(self) -> list[int]:
        """Returns the byte values without a token, ascending; text that contains one cannot be encoded."""
        return self.columns.missing_bytes()

    def tokens(self) -> dict[int, bytes]:
        """Returns the ordinary tokens as a map id -> bytes, ids ascending."""
        return self.columns.tokens()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        names = (name for name in self.__slots__ if name not in ("columns", "training"))
        return all(getattr(self, name) == getattr(other, name) for name in names) and self.columns.equals(other.columns)

    def __hash__(self) -> int:
        return hash((self.token_bytes, self.pattern, self.decode_errors, self.rule, self.columns.n_merges))

    def __repr__(self) -> str:
        return f"Model({self.columns.n_tokens} tokens, {self.columns.n_merges} merges, rule={self.rule!r})"


def canonical_json(value: Any) -> str:
    """Returns `value` as canonical JSON, with sorted keys and no spaces; ValueError if JSON cannot represent it.

    >>> canonical_json({"b": 1, "a": [None]})
    '{"a":[null],"b":1}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        text.encode()
    except RecursionError:
        raise ValueError("nested too deeply to be written as JSON") from None
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which is not text") from None
    return text


def checked_normalizer(steps: Any) -> tuple[str, ...]:
    """Returns normaliser steps, given as None, a name or several, as a tuple; else raises TypeError or ValueError.

    >>> checked_normalizer("nfc")
    ('nfc',)
    """
    if steps is None:
        return ()
    if isinstance(steps, str):
        steps = (steps,)
    if not isinstance(steps, (tuple, list)):
        raise TypeError(f"normalizer must be None, a str or a tuple of str, not {type(steps).__name__}")
    for step in steps:
        if not isinstance(step, str) or not step.startswith((CHARSMAP, UNKNOWN, UNKNOWN_EACH, WORDS)):
            check_choice("normalizer", step, NORMALIZERS)
    if "prefix_space" in steps[:-1]:
        raise ValueError("normalizer 'prefix_space' must be the last step")
    if len(steps) > _MAX_STEPS:
        raise ValueError(f"normalizer has {len(steps)} steps; at most {_MAX_STEPS} are allowed")
    return tuple(steps)


def _checked_rules(rules: Any, special_tokens: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """Returns the rules sorted and without duplicates; ValueError for an unknown rule or special token."""
    for rule in rules:
        if not isinstance(rule, tuple) or len(rule) != 2:
            raise TypeError(f"special_rules must contain pairs (literal, rule), not {shown(rule)}")
        check_choice("the rule of a special token", rule[1], SPECIAL_RULES)
        if rule[0] not in special_tokens:
            raise ValueError(f"special_rules contains {shown(rule[0])}, which is not a special token")
    return tuple(sorted(set(rules)))


def config_of(model: Model) -> dict[str, Any]:
    """Returns the settings of `model.tokenizer_config` as a new dict, which is empty if there are none."""
    config: dict[str, Any] = {} if model.tokenizer_config is None else json.loads(model.tokenizer_config)
    return config


def literal_of(value: Any) -> str | None:
    """Returns the text of a token given as a str or as an object with the key "content"; None for anything else."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) and content else None


def _canonical(name: str, text: Any) -> str:
    """Returns the JSON object `text` in canonical form; TypeError or ValueError if it is not one."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str of JSON or None, not {type(text).__name__}")
    try:
        value = json.loads(text)
        if type(value) is not dict:
            raise ValueError(f"it is {shown(value)}, not an object")
        return canonical_json(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not the JSON of an object: {error}") from None


def assign_special_ids(
    tokens: Mapping[int, bytes], special_tokens: Sequence[str] | Mapping[str, int]
) -> dict[str, int]:
    """Returns an id for each special token: a dict gives the ids; in a list, a token takes the id whose bytes match
    (the least; of a single byte the largest, since the least is the byte's own), else the next id after the largest.

    tokens: the existing tokens, id -> bytes. Raises TypeError for a bare str or an id that is not an int,
    ValueError for an empty or repeated token and for an id that is negative or given twice.
    """
    literals = check_special_tokens(special_tokens)
    if isinstance(special_tokens, Mapping):
        literal_of: dict[int, str] = {}
        for literal in literals:
            name = f"the id of special token {shown(literal)}"
            token_id = check_int(name, special_tokens[literal], least=0, most=LARGEST_ID)
            if token_id in literal_of:
                raise ValueError(
                    f"special tokens {shown(literal_of[token_id])} and {shown(literal)} both have id {token_id}"
                )
            literal_of[token_id] = literal
        return dict(special_tokens)
    wanted = {literal.encode(): literal for literal in literals}
    last_wins = sorted(tokens.items(), key=lambda entry: entry[0] if len(entry[1]) == 1 else -entry[0])
    assigned = {wanted[token]: token_id for token_id, token in last_wins if token in wanted}
    next_id = max(tokens, default=-1) + 1
    for literal in literals:
        if literal not in assigned:
            assigned[literal] = next_id
            next_id += 1
    return {literal: assigned[literal] for literal in literals}
