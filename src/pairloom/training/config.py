"""TrainingConfig: the options that decide which merges are learned and which id each token gets.

The three profiles follow published conventions: bpetite's, the Stanford CS336 assignment's, HuggingFace's.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pairloom._internal.arguments import check_bool, check_choice, check_int, check_special_tokens, shown
from pairloom._internal.byte_alphabet import ALPHABET
from pairloom.model import DECODE_ERRORS, DecodeErrors, Model, Pattern, canonical_json
from pairloom.patterns import pattern_name, pattern_text

SpecialIds = Literal["last", "after_bytes", "first"]
ByteOrder = Literal["value", "gpt2"]
CorpusSpecials = Literal["text", "split"]
TieBreak = Literal["ids_least", "bytes_greatest", "first_seen"]
InputErrors = Literal["strict", "replace"]

N_BYTES = 256

# Options of a training call that are not fields of a config; named in error messages.
_RUN_OPTIONS = ("threads", "progress", "max_memory", "trace", "parity", "parity_reference")

# Fields that a Model stores itself, so that a record leaves them out.
_MODEL_FIELDS = ("pattern", "decode_errors")

# The bytes in the order of their ids; "gpt2" begins with the printable ones.
BYTE_ORDERS = {"value": bytes(range(N_BYTES)), "gpt2": bytes(sorted(range(N_BYTES), key=ALPHABET.__getitem__))}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """The options that decide which merges are learned and which ids tokens get; the defaults are profile "bpetite".

    pattern: a named pattern, a regex, or a tuple of them, each splitting what the previous one left.
    special_tokens: literals that get an id each and take no part in merges.
    special_ids: "last" puts them after the last merge, "after_bytes" between bytes and merges, "first" before all.
    byte_order: the order of the 256 byte tokens, by "value" or as in the "gpt2" byte alphabet.
    specials_counted: whether vocab_size counts the special tokens.
    corpus_specials: treat special tokens in the corpus as "text", or "split" it into documents there and remove them.
    tie_break: among equally frequent pairs, "ids_least" takes the smallest (id, id), "bytes_greatest" the greatest
    (left bytes, right bytes), "first_seen" (minbpe) the one that occurs first in the corpus as merged so far.
    "first_seen" uses one thread and needs a corpus; it does not work with counts, checkpoints or max_memory.
    decode_errors, input_errors: how to treat malformed bytes when decoding, and in the corpus.
    min_frequency: pairs rarer than this are not merged. max_token_bytes: the length limit for new tokens.
    min_count: pretokens rarer than this are left out of the counts (see `PretokenCounts.pruned`), now or earlier.
    Raises ValueError and TypeError for invalid values, PatternError for a pattern that does not compile.
    """

    pattern: Pattern = "gpt2"
    special_tokens: tuple[str, ...] = ("<|endoftext|>",)
    special_ids: SpecialIds = "last"
    byte_order: ByteOrder = "value"
    specials_counted: bool = False
    corpus_specials: CorpusSpecials = "text"
    tie_break: TieBreak = "ids_least"
    decode_errors: DecodeErrors = "strict"
    input_errors: InputErrors = "strict"
    min_frequency: int = 1
    max_token_bytes: int | None = None
    min_count: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.special_tokens, Mapping):
            raise TypeError(
                "special_tokens must be a list of str, not a dict, because training assigns their ids (special_ids); "
                "pass list(...) of the dict, or add them afterwards with add_special_tokens"
            )
        object.__setattr__(self, "special_tokens", check_special_tokens(self.special_tokens))
        if isinstance(self.pattern, list):
            object.__setattr__(self, "pattern", tuple(self.pattern))
        pattern_text(self.pattern)
        check_choice("special_ids", self.special_ids, get_args(SpecialIds))
        check_choice("byte_order", self.byte_order, get_args(ByteOrder))
        check_choice("corpus_specials", self.corpus_specials, get_args(CorpusSpecials))
        check_choice("tie_break", self.tie_break, get_args(TieBreak))
        check_choice("decode_errors", self.decode_errors, DECODE_ERRORS)
        check_choice("input_errors", self.input_errors, get_args(InputErrors))
        check_bool("specials_counted", self.specials_counted)
        check_int("min_frequency", self.min_frequency, least=1)
        check_int("min_count", self.min_count, least=1)
        if self.max_token_bytes is not None:
            check_int("max_token_bytes", self.max_token_bytes, least=1)

    @classmethod
    def from_profile(cls, profile: str = "bpetite", **fields: Any) -> TrainingConfig:
        """Returns the named profile with `fields` replaced; the error for an unknown name lists the known ones."""
        if not isinstance(profile, str):
            raise TypeError(f"profile must be a str, not {type(profile).__name__}")
        if profile not in PROFILES:
            raise ValueError(f"unknown profile {shown(profile)}; choose one of {', '.join(PROFILES)}")
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(fields) - known):
            from pairloom.corpus import check_not_of_corpus

            if unknown[0] == "checkpoint":
                raise TypeError(
                    "checkpoint works only with train_files; for texts, count once and save the PretokenCounts"
                )
            if unknown[0] in _RUN_OPTIONS:
                raise TypeError(f"{unknown[0]} is an option of Tokenizer.train, not of this call")
            check_not_of_corpus(unknown, "Tokenizer.train")
            close = difflib.get_close_matches(unknown[0], [*known, *_RUN_OPTIONS], n=1)
            meant = f"; did you mean {close[0]!r}?" if close else "."
            raise TypeError(
                f"unknown training option {unknown[0]!r}{meant} The options are {', '.join(sorted(known))}; calls "
                f"that train also have {', '.join(_RUN_OPTIONS)}"
            )
        return dataclasses.replace(PROFILES[profile], **fields)

    def record(self) -> str:
        """Returns what a Model stores, as JSON: the nearest profile, and the fields that differ from it.

        Fields that the Model has anyway (pattern, decode_errors) are left out.
        """
        names = [field.name for field in dataclasses.fields(self) if field.name not in _MODEL_FIELDS]
        fields = {name: getattr(self, name) for name in names}
        differing = {
            profile: {name: value for name, value in fields.items() if value != getattr(config, name)}
            for profile, config in PROFILES.items()
        }
        profile = min(differing, key=lambda profile: len(differing[profile]))
        return canonical_json({"profile": profile, **differing[profile]})

    @classmethod
    def of_record(cls, record: str, **fields: Any) -> TrainingConfig:
        """Returns the config of a record, with `fields` from the Model; TypeError or ValueError for a wrong record."""
        recorded = json.loads(record)
        if wrong := recorded.keys() & set(_MODEL_FIELDS):
            raise ValueError(f"{min(wrong)} is not a field of a record")
        return cls.from_profile(**{"profile": None, **recorded, **fields})

    @classmethod
    def of_model(cls, model: Model) -> TrainingConfig | None:
        """Returns how the model was trained, from its record; None if it has none."""
        if model.training is None:
            return None
        parts = (model.pattern,) if isinstance(model.pattern, str) else model.pattern
        names = tuple(pattern_name(part) or part for part in parts)
        pattern = names[0] if isinstance(model.pattern, str) else names
        return cls.of_record(model.training, pattern=pattern, decode_errors=model.decode_errors)

    @property
    def base_vocab_size(self) -> int:
        """The smallest possible vocab_size: the 256 bytes, and the special tokens if they are counted."""
        return N_BYTES + (len(self.special_tokens) if self.specials_counted else 0)

    def n_merges(self, vocab_size: int) -> int:
        """Returns the number of merges that fill `vocab_size`; ValueError if it is below `base_vocab_size`."""
        check_int("vocab_size", vocab_size)
        if vocab_size < self.base_vocab_size:
            specials = f" and {len(self.special_tokens)} special tokens" if self.specials_counted else ""
            raise ValueError(
                f"vocab_size is {vocab_size}, but the 256 bytes{specials} already need {self.base_vocab_size}; "
                f"pass vocab_size >= {self.base_vocab_size}"
            )
        return vocab_size - self.base_vocab_size


PROFILES: dict[str, TrainingConfig] = {
    "bpetite": TrainingConfig(),
    "cs336": TrainingConfig(
        special_tokens=(),
        special_ids="after_bytes",
        specials_counted=True,
        corpus_specials="split",
        tie_break="bytes_greatest",
        decode_errors="replace",
    ),
    "huggingface": TrainingConfig(
        special_tokens=(),
        special_ids="first",
        byte_order="gpt2",
        specials_counted=True,
        decode_errors="replace",
    ),
}
