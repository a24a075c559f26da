"""The methods that show and change a tokenizer's other settings: pattern, normaliser, cache, names of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from pairloom import _core
from pairloom._internal.arguments import check_int, shown
from pairloom.model import (
    CHARACTERS,
    DecodeErrors,
    Model,
    Pattern,
    canonical_json,
    checked_normalizer,
    config_of,
    literal_of,
)
from pairloom.tokenizer.base import TokenizerBase

if TYPE_CHECKING:
    from pairloom.training.config import TrainingConfig


class SettingsMethods(TokenizerBase):
    """Gives access to pattern, normaliser, post-processor, cache, and the settings of a model folder."""

    __slots__ = ()

    @property
    def model(self) -> Model:
        """The tokenizer's definition as columns; file formats are converted from and to it."""
        return self._model

    @property
    def config(self) -> TrainingConfig | None:
        """How it was trained, recorded in pairloom's own files; None if constructed or loaded from another format."""
        from pairloom.training.config import TrainingConfig

        return TrainingConfig.of_model(self._model)

    @property
    def pattern(self) -> Pattern:
        """The text of the pretoken pattern, or a tuple of patterns, each splitting what the previous one left."""
        return self._model.pattern

    @property
    def pattern_engine(self) -> Literal["scanner", "dfa", "backtracking"]:
        """What splits texts: "scanner" (handwritten for the pattern), "dfa" (automata, for regular patterns), or
        "backtracking" if any part of the pattern needs it, which is slower and cannot split one text among threads."""
        return "scanner" if self._model.pattern == CHARACTERS else _core.pattern_engine(self._model.pattern)

    @property
    def normalizer(self) -> str | tuple[str, ...] | None:
        """The steps that change each text between special tokens before it is split: None, a step or a tuple of steps.

        Steps: "nfc", "nfd", "nfkc", "nfkd" (Unicode 9.0), "lowercase", and "prefix_space", which puts a space before a
        text that does not begin with one; `Model` lists others, which come from files. Every encoding method applies
        the steps; training does not.
        """
        steps = self._model.normalizer
        return None if not steps else steps[0] if len(steps) == 1 else steps

    @property
    def is_lossless(self) -> bool:
        """Whether decode(encode(x)) == x for every text: no normaliser, a token for each of the 256 bytes, and no
        special token that absorbs white space or is recognised in any case (`special_rules`)."""
        has_any_case = any(rule == "any_case" for _, rule in self._model.special_rules)
        return not (self._model.normalizer or self._model.missing_bytes() or self._model.strips or has_any_case)

    @property
    def decode_errors(self) -> DecodeErrors:
        """How malformed bytes are decoded by default: "strict", "replace", "ignore", or another of `DECODE_ERRORS`."""
        return self._model.decode_errors

    def with_normalizer(self, normalizer: str | Sequence[str] | None) -> Self:
        """Returns the tokenizer with this normaliser (see `normalizer`), or without; ValueError for an unknown step."""
        return self.from_model(self._model.replaced(normalizer=checked_normalizer(normalizer)))

    def with_cache_bytes(self, cache_bytes: int) -> Self:
        """Returns the tokenizer with a cache of at most `cache_bytes`, which all threads share.

        The cache maps pretokens to their ids. The default is 96 MiB; resizing the table can use 1.5 times that for a
        moment. The size affects speed, never ids. Pickles keep it, but other methods return tokenizers with the
        default.
        """
        tokenizer = type(self).__new__(type(self))
        tokenizer._init_from_model(self._model, check_int("cache_bytes", cache_bytes, least=0))
        return tokenizer

    @property
    def post_processor(self) -> str | None:
        """What HuggingFace adds around a text on request, as the JSON of a tokenizer.json; None if nothing.

        `encode(text, add_special_tokens=True)` runs it.
        """
        return self._model.post_processor

    def without_post_processor(self) -> Self:
        """Returns the tokenizer without the post-processor, for formats that cannot store it."""
        return self.from_model(self._model.replaced(post_processor=None))

    @property
    def tokenizer_config(self) -> dict[str, Any]:
        """The settings of a model folder's tokenizer_config.json: names of special tokens, chat template, ...

        They change no ids. `save_pretrained` and pairloom's own files store them.
        """
        return config_of(self._model)

    def with_tokenizer_config(self, **settings: Any) -> Self:
        """Returns the tokenizer with these settings changed; a value of None removes the setting.

        Raises ValueError if a setting whose name ends in _token (bos_token, eos_token, pad_token, unk_token) does not
        name a special token.
        """
        config = self.tokenizer_config
        for name, value in settings.items():
            if (
                name.endswith("_token")
                and value is not None
                and (not isinstance(value, str) or value not in self._model.special_tokens)
            ):
                raise ValueError(
                    f"{name} is {shown(value)}, which is not a special token; add it with add_special_tokens"
                )
            config[name] = value
        kept = {name: value for name, value in config.items() if value is not None or name not in settings}
        try:
            text = canonical_json(kept) if kept else None
        except (TypeError, ValueError) as error:
            raise ValueError(f"the settings must be values that JSON can represent: {error}") from None
        return self.from_model(self._model.replaced(tokenizer_config=text))

    def _config_token_id(self, name: str) -> int | None:
        literal = literal_of(self.tokenizer_config.get(name))
        return None if literal is None else self._model.special_tokens.get(literal)

    @property
    def bos_token_id(self) -> int | None:
        """The id of the token that begins a text, if a model folder or `with_tokenizer_config` named one."""
        return self._config_token_id("bos_token")

    @property
    def eos_token_id(self) -> int | None:
        """The id of the token that ends a text, if a model folder or `with_tokenizer_config` named one."""
        return self._config_token_id("eos_token")

    @property
    def pad_token_id(self) -> int | None:
        """The id of the token that fills a batch, if a model folder or `with_tokenizer_config` named one."""
        return self._config_token_id("pad_token")

    @property
    def unk_token_id(self) -> int | None:
        """The id of the token named for unknown text; byte-level encoding never returns it."""
        return self._config_token_id("unk_token")

    @property
    def chat_template(self) -> str | None:
        """The chat template, which pairloom stores but does not run; if there are several, the one named "default"."""
        found = self.tokenizer_config.get("chat_template")
        if isinstance(found, list):
            named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
            found = named.get("default")
        return found if isinstance(found, str) else None
