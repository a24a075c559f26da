"""The methods that show what else a tokenizer is made of, and that change it: pattern, normaliser, names of tokens."""

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
    """Pattern, normaliser, post-processor, cache, and the settings of a model folder."""

    __slots__ = ()

    @property
    def model(self) -> Model:
        """The tokenizer's definition as columns; file formats translate it."""
        return self._model

    @property
    def config(self) -> TrainingConfig | None:
        """How it was trained, as pairloom's own files say it; None if it was constructed, or is of another's file."""
        from pairloom.training.config import TrainingConfig

        return TrainingConfig.of_model(self._model)

    @property
    def pattern(self) -> Pattern:
        """The text of the pretoken pattern, or a tuple of them, each splitting what the one before left."""
        return self._model.pattern

    @property
    def pattern_engine(self) -> Literal["scanner", "dfa", "backtracking"]:
        """What splits texts: "scanner" (written by hand for the pattern), "dfa" (automata, for what is regular), or
        "backtracking" where any part of the pattern needs it, which is slower and divides no text among threads."""
        return "scanner" if self._model.pattern == CHARACTERS else _core.pattern_engine(self._model.pattern)

    @property
    def normalizer(self) -> str | tuple[str, ...] | None:
        """What changes each text between special tokens before it is split: None, a step or a tuple of steps.

        Steps: "nfc", "nfd", "nfkc", "nfkd" (Unicode 16.0), "lowercase", and "prefix_space", a space before a text that
        begins with none; files have others (`Model`). Every encoding method applies them, and training does not.
        """
        steps = self._model.normalizer
        return None if not steps else steps[0] if len(steps) == 1 else steps

    @property
    def is_lossless(self) -> bool:
        """Whether decode(encode(x)) == x for every text: no normaliser, a token for each of the 256 bytes, and no
        special token that takes white space along."""
        return not self._model.normalizer and not self._model.missing_bytes() and not self._model.strips

    @property
    def decode_errors(self) -> DecodeErrors:
        """How malformed bytes are decoded by default: "strict", "replace" or "ignore"."""
        return self._model.decode_errors

    def with_normalizer(self, normalizer: str | Sequence[str] | None) -> Self:
        """The same tokenizer with this normaliser (see `normalizer`), or with none; ValueError for an unknown step."""
        return self.from_model(self._model.replaced(normalizer=checked_normalizer(normalizer)))

    def with_cache_bytes(self, cache_bytes: int) -> Self:
        """The same tokenizer with a cache of at most `cache_bytes`, which all threads share.

        The cache maps pretokens to their ids. Default 96 MiB; up to 1.5 times that while the table is resized. Its size
        changes speed, never ids.
        """
        tokenizer = type(self).__new__(type(self))
        tokenizer._hold(self._model, check_int("cache_bytes", cache_bytes, least=0))
        return tokenizer

    @property
    def post_processor(self) -> str | None:
        """What HuggingFace adds around a text on request, as the JSON of a tokenizer.json; None if nothing.

        `encode(text, add_special_tokens=True)` runs it.
        """
        return self._model.post_processor

    def without_post_processor(self) -> Self:
        """The same tokenizer without the post-processor, for formats that cannot store it."""
        return self.from_model(self._model.replaced(post_processor=None))

    @property
    def tokenizer_config(self) -> dict[str, Any]:
        """The settings that a model folder's tokenizer_config.json holds: names of special tokens, chat template, ...

        They change no ids. Saved by `save_pretrained` and in pairloom's own files.
        """
        return config_of(self._model)

    def with_tokenizer_config(self, **settings: Any) -> Self:
        """The same tokenizer with these settings changed, or removed where they are None.

        A setting whose name ends in _token (bos_token, eos_token, pad_token, unk_token) must be one of the special
        tokens: else ValueError.
        """
        config = self.tokenizer_config
        for name, value in settings.items():
            if (
                name.endswith("_token")
                and value is not None
                and (not isinstance(value, str) or value not in self._model.special_tokens)
            ):
                raise ValueError(f"{name} is {shown(value)}, which is no special token; add_special_tokens adds it")
            config[name] = value
        kept = {name: value for name, value in config.items() if value is not None or name not in settings}
        try:
            text = canonical_json(kept) if kept else None
        except (TypeError, ValueError) as error:
            raise ValueError(f"the settings must be what JSON can hold: {error}") from None
        return self.from_model(self._model.replaced(tokenizer_config=text))

    def _named_id(self, name: str) -> int | None:
        literal = literal_of(self.tokenizer_config.get(name))
        return None if literal is None else self._model.special_tokens.get(literal)

    @property
    def bos_token_id(self) -> int | None:
        """The id of the token that begins a text, if a model folder or `with_tokenizer_config` named one."""
        return self._named_id("bos_token")

    @property
    def eos_token_id(self) -> int | None:
        """The id of the token that ends a text, if a model folder or `with_tokenizer_config` named one."""
        return self._named_id("eos_token")

    @property
    def pad_token_id(self) -> int | None:
        """The id of the token that fills a batch, if a model folder or `with_tokenizer_config` named one."""
        return self._named_id("pad_token")

    @property
    def unk_token_id(self) -> int | None:
        """The id of the token named for unknown text; encoding never gives it, since bytes can be any text."""
        return self._named_id("unk_token")

    @property
    def chat_template(self) -> str | None:
        """The text of the chat template, which pairloom keeps and does not run; of several, the one named default."""
        found = self.tokenizer_config.get("chat_template")
        if isinstance(found, list):
            named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
            found = named.get("default")
        return found if isinstance(found, str) else None
