"""Model: everything that defines a tokenizer, as columns. Models are equal exactly if the tokenizers are.

File formats, training and callers build Models, and the core builds its encoder from one. A Model is immutable, and
its constructor checks all of it, in a few milliseconds for 100,000 tokens.
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
"""How malformed bytes can be decoded; "replace_bytes" puts U+FFFD for each byte, as SentencePiece does, "replace_runs"
for each byte of a run of byte tokens that is not UTF-8 as a whole, as HuggingFace does."""

CHARACTERS = "(?#characters)"
"""The pattern of tokenizers whose merging starts with characters, as SentencePiece's does."""

NORMALIZERS = _core.NORMALIZERS
DROP_STEP = "drop_missing_bytes"
"""The steps that a normaliser can have."""

CHARSMAP, UNKNOWN, UNKNOWN_EACH, WORDS = _core.NORMALIZER_PREFIXES
"""How steps of a normaliser begin: the table of a SentencePiece model, in base64; the id of characters without a token;
the words of a text, and the patterns that cut it as JSON."""

_MAX_STEPS = 5

SPECIAL_RULES = ("after_space", "any_case", "lstrip", "nfc", "normalized", "ordinary", "rstrip", "single_word")
"""The rules that a special token can have."""

LARGEST_ID = 2**24 - 1
"""The largest id that a token can have."""

CARRIED = "tokenizer.json"
"""The setting of a tokenizer_config that holds what a tokenizer.json says and encoding here does not apply."""


class Model:
    """Ordinary tokens, how they merge, special tokens, pattern and decode errors; immutable, its arrays read-only.

    columns: tokens and merges, which the core has checked; `columns_of` makes them of the arrays that are named first.
    token_ids: uint32 [n], strictly ascending; gaps are allowed.
    token_bytes: all tokens one after the other, each at least a byte and no two equal; token_ends: uint64 [n], where
    each ends in it.
    merges: uint32 [m, 3], rows (left id, right id, merged id) in rank order; empty under rule "ranks".
    rule: "pairs" merges exactly the pairs of `merges`; "ranks" merges any pair whose joined bytes are a token, the
    least id first (what tiktoken does).
    ignore_merges: a pretoken that is a token becomes that token without merging (tiktoken always; HuggingFace's
    ignore_merges).
    special_tokens: literal -> id, ids distinct; kept apart from the tokens, since their bytes may be equal. One that
    has the id of a token has its bytes too.
    pattern: the text of the pretoken pattern, or a tuple of patterns, each splitting what the one before left.
    plain_specials: those of special_tokens that HuggingFace counts as text: decoding there never skips them.
    post_processor: what HuggingFace puts around a text on request (BOS, EOS), as the canonical JSON of an object; None
    if nothing. It is kept for tokenizer.json and changes no ids here.
    tokenizer_config: the tokenizer_config.json of a model folder (bos_token, eos_token, chat_template and so on), as
    the canonical JSON of an object; None if there is none. It changes no ids.
    normalizer: steps that change each text between special tokens before it is split, in order: "nfc", "nfd", "nfkc",
    "nfkd" (Unicode 16.0), "lowercase", and last "prefix_space", a space before a text that begins with none.
    "drop_missing_bytes" leaves bytes that are no token out of pretokens. Files of SentencePiece have others.
    "words:LIST" leaves the words of a text, each with a space after it: what the patterns cut that is no white space.
    "unknown:ID" and "unknown_each:ID": characters without a token become that id, one for several in a row or each.
    Empty: text stays as it is.
    priorities: uint32 [n], under rule "priorities" only: the priority of each token in merging, 0 first, 2**32 - 1 for
    one that is found as a whole and never merged. Any two neighbours whose joined bytes are a token merge, the leftmost
    of equal priority first: SentencePiece's scores. Merging starts with characters then (pattern CHARACTERS).
    training: how the tokenizer was trained, as the canonical JSON of an object, for training that continues
    (`TrainingConfig.record`); None if that is not known. Models that differ in nothing else are equal.
    special_rules: (literal, rule) of special tokens that do not count wherever they stand, ascending; the rules are
    SPECIAL_RULES, and `reference.special_rules` defines them.

    Raises TypeError for columns of another type or shape, ValueError for a promise that is broken.
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
        plain = frozenset(plain_specials)
        if unknown := plain - special_tokens.keys():
            raise ValueError(f"plain_specials holds {shown(min(unknown, key=str))}, which is no special token")
        texts = {"post_processor": post_processor, "tokenizer_config": tokenizer_config, "training": training}
        for name, text in texts.items():
            if text is not None and _reencoded(name, text) != text:
                raise ValueError(f"{name} must be the canonical JSON of an object; pass it through canonical_json")
        fields = {
            "columns": columns,
            "ignore_merges": ignore_merges,
            "special_tokens": MappingProxyType(dict(special_tokens)),
            "pattern": _checked_pattern(pattern),
            "decode_errors": decode_errors,
            "plain_specials": plain,
            **texts,
            "normalizer": checked_normalizer(normalizer),
            "special_rules": _checked_rules(special_rules, special_tokens),
        }
        # Llama's, where a space stands before each text and decoding drops it.
        has_prefix = fields["pattern"] == CHARACTERS and "dummy_prefix" in normalizer
        if not has_prefix and any(rule == "after_space" for _, rule in special_rules):
            raise ValueError(
                "special_rules: 'after_space' goes with merging of characters and the normalizer's 'dummy_prefix' only"
            )
        columns.check_special_tokens(list(special_tokens.items()))
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def replaced(self, **fields: Any) -> Model:
        """The Model with some of its fields and columns changed; TypeError for an unknown one."""
        kept = {name: getattr(self, name) for name in self.__slots__}
        if changed := {name: fields.pop(name) for name in _COLUMNS if name in fields}:
            kept["columns"] = columns_of(**{**{name: getattr(self, name) for name in _COLUMNS}, **changed})
        return Model(**{**kept, **fields})

    def one_form(self) -> Model:
        """The one form that stands for all models which encode every text as this one does by ranks.

        That is pairs where every token of several bytes can be made by merging, and else ranks. A model that does not
        look whole pretokens up, or whose pairs are not those of its ranks, comes back as it is.
        """
        columns = self.columns.one_form() if self.ignore_merges else None
        return self if columns is None else self.replaced(columns=columns, ignore_merges=columns.ranks)

    def with_tokens(
        self,
        tokens: Mapping[int, bytes],
        merges: Sequence[tuple[int, int, int]] | npt.NDArray[np.uint32],
        special_tokens: Mapping[str, int],
        **fields: Any,
    ) -> Model:
        """The Model with other tokens, merges and ids of special tokens, and with `fields` changed."""
        kept = {name: getattr(self, name) for name in (*self.__slots__, "rule") if name != "columns"}
        return Model.from_tokens(tokens, merges, **{**kept, "special_tokens": special_tokens, **fields})

    @property
    def token_ids(self) -> npt.NDArray[np.uint32]:
        """uint32 [n], strictly ascending."""
        return self.columns.token_ids

    @property
    def token_bytes(self) -> bytes:
        """All tokens one after the other."""
        return self.columns.token_bytes

    @property
    def token_ends(self) -> npt.NDArray[np.uint64]:
        """uint64 [n]: where each token ends in `token_bytes`."""
        return self.columns.token_ends

    @property
    def merges(self) -> npt.NDArray[np.uint32]:
        """uint32 [m, 3]: left id, right id, merged id in rank order."""
        return self.columns.merges

    @property
    def rule(self) -> MergeRule:
        """What merges: the pairs of `merges`, or any two tokens whose joined bytes are a token."""
        return "ranks" if self.columns.ranks else "priorities" if self.columns.has_priorities else "pairs"

    @property
    def priorities(self) -> npt.NDArray[np.uint32] | None:
        """uint32 [n]: the priority of each token in merging; None unless the rule is "priorities"."""
        return self.columns.priorities if self.columns.has_priorities else None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Model cannot be changed; model.replaced({name}=...) makes another")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Model cannot be changed")

    def of_single_bytes(self) -> Model:
        """The model of the 256 bytes, after the largest id, that cuts and normalises texts as this one, and drops none.

        So its ids say what of a text is merged here.
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
        """Builds the columns from a map id -> bytes and merges as id triples (left, right, merged).

        fields: the others of the constructor, of which `pattern` must be given.
        """
        import numpy as np

        ids = sorted(tokens)
        lengths = np.fromiter((len(tokens[i]) for i in ids), dtype=np.uint64, count=len(ids))
        columns = columns_of(
            token_ids=np.array(ids, dtype=np.uint32),
            token_bytes=b"".join(tokens[i] for i in ids),
            token_ends=np.cumsum(lengths, dtype=np.uint64),
            merges=np.asarray(merges, dtype=np.uint32).reshape(-1, 3),
            rule=rule,
        )
        rest = {"ignore_merges": ignore_merges, "special_tokens": special_tokens or {}, "decode_errors": decode_errors}
        return cls(columns, **{**rest, **fields})

    def check_merges_bytes(self, what: str) -> None:
        """Raises ValueError, which says that `what` cannot be done, where merging starts with characters."""
        if self.pattern == CHARACTERS:
            raise ValueError(
                f"{what}: this tokenizer merges characters, as SentencePiece does, and not bytes; that is not supported"
            )
        if self.words is not None:
            raise ValueError(f"{what}: this tokenizer leaves white space out, as CLIP's does; that is not supported")

    @property
    def usual_errors(self) -> DecodeErrors:
        """The decode_errors that the libraries of other formats have, and that loading their files sets."""
        return "replace_runs" if self.pattern == CHARACTERS else "replace"

    @property
    def normalizer_names(self) -> tuple[str, ...]:
        """The steps of the normalizer for people: of a charsmap, which has hundreds of kilobytes, its kind alone."""
        return tuple(step.partition(":")[0] if step.startswith((CHARSMAP, WORDS)) else step for step in self.normalizer)

    @property
    def unknown(self) -> tuple[int, bool] | None:
        """The id of characters without a token, and whether it is one for several in a row; None if none says so."""
        found = [step.partition(":") for step in self.normalizer if step.startswith((UNKNOWN, UNKNOWN_EACH))]
        return (int(found[0][2]), found[0][0] == UNKNOWN.rstrip(":")) if found else None

    @property
    def words(self) -> list[str] | None:
        """The patterns by which a step of the normalizer finds words; None if there is no such step."""
        found = [step for step in self.normalizer if step.startswith(WORDS)]
        return json.loads(found[0].removeprefix(WORDS)) if found else None

    @property
    def strips(self) -> bool:
        """Whether some special token takes white space along, which decoding does not give back."""
        return any(rule in ("lstrip", "rstrip") for _, rule in self.special_rules)

    def missing_bytes(self) -> list[int]:
        """The byte values of 0 to 255 that are no token, ascending: text that holds one cannot be encoded."""
        return self.columns.missing_bytes()

    def tokens(self) -> dict[int, bytes]:
        """The ordinary tokens as a map id -> bytes, ids ascending."""
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


_COLUMNS = ("token_ids", "token_bytes", "token_ends", "merges", "rule", "priorities")


def columns_of(
    token_ids: npt.NDArray[np.uint32],
    token_bytes: bytes,
    token_ends: npt.NDArray[np.uint64],
    merges: npt.NDArray[np.uint32],
    rule: MergeRule,
    priorities: npt.NDArray[np.uint32] | None = None,
) -> _core.ModelColumns:
    """The columns of a Model, checked as it says; ValueError."""
    return _core.ModelColumns(
        token_ids=token_ids,
        token_bytes=token_bytes,
        token_ends=token_ends,
        merges=merges,
        ranks=rule == "ranks",
        priorities=priorities,
    )


def canonical_json(value: Any) -> str:
    """`value` as JSON in its one canonical form: keys sorted, no spaces; ValueError where it has none.

    >>> canonical_json({"b": 1, "a": [None]})
    '{"a":[null],"b":1}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        text.encode()
    except RecursionError:
        raise ValueError("nested too deeply to be written as JSON") from None
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is not text") from None
    return text


def checked_normalizer(steps: Any) -> tuple[str, ...]:
    """The steps of a normaliser as a tuple: None, a name, or several; TypeError or ValueError for anything else.

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
    """The rules in order, each once; ValueError for one that is unknown or of no special token."""
    for rule in rules:
        if not isinstance(rule, tuple) or len(rule) != 2:
            raise TypeError(f"special_rules must hold pairs (literal, rule), not {shown(rule)}")
        check_choice("the rule of a special token", rule[1], SPECIAL_RULES)
        if rule[0] not in special_tokens:
            raise ValueError(f"special_rules holds {shown(rule[0])}, which is no special token")
    return tuple(sorted(set(rules)))


def config_of(model: Model) -> dict[str, Any]:
    """The settings of `model.tokenizer_config` as a dict of its own; empty where there are none."""
    config: dict[str, Any] = {} if model.tokenizer_config is None else json.loads(model.tokenizer_config)
    return config


def literal_of(value: Any) -> str | None:
    """The text of a token that is written as a str or as an object with the key "content"; None for anything else."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) and content else None


def _reencoded(name: str, text: Any) -> str:
    """The canonical JSON of the object that `text` holds."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str of JSON or None, not {type(text).__name__}")
    try:
        value = json.loads(text)
        if type(value) is not dict:
            raise ValueError(f"it is {shown(value)}, not an object")
        return canonical_json(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not the JSON of an object: {error}") from None


def _checked_pattern(pattern: Any) -> Pattern:
    checked: Pattern = pattern
    parts = (pattern,) if isinstance(pattern, str) else pattern
    if not isinstance(parts, tuple) or not all(isinstance(part, str) for part in parts):
        raise TypeError(f"pattern must be a str or a tuple of str, not {shown(pattern)}")
    if not parts:
        raise ValueError("pattern has no parts; give at least one")
    for part in parts:
        try:
            part.encode()
        except UnicodeEncodeError:
            raise ValueError(f"pattern {shown(part)} holds a lone surrogate, which is not text") from None
    return checked


def assign_special_ids(
    tokens: Mapping[int, bytes], special_tokens: Sequence[str] | Mapping[str, int]
) -> dict[str, int]:
    """The special tokens with an id each: from a dict as given; from a list, the id whose bytes match, else the next
    id past the largest.

    tokens: id -> bytes, what the special tokens join. Raises TypeError for a bare str or an id that is no int,
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
                    f"special tokens {shown(literal_of[token_id])} and {shown(literal)} are both given id {token_id}"
                )
            literal_of[token_id] = literal
        return dict(special_tokens)
    wanted = {literal.encode(): literal for literal in literals}
    assigned = {wanted[token]: token_id for token_id, token in sorted(tokens.items(), reverse=True) if token in wanted}
    next_id = max(tokens, default=-1) + 1
    for literal in literals:
        if literal not in assigned:
            assigned[literal] = next_id
            next_id += 1
    return {literal: assigned[literal] for literal in literals}
