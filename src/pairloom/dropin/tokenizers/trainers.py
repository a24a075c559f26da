"""The trainer of the library that is taken: BpeTrainer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pairloom._internal.arguments import check_bool, check_choice, check_int, check_several, check_str
from pairloom.dropin.tokenizers.components import AddedToken, module_getattr

__all__ = ["BpeTrainer", "Trainer"]

__getattr__ = module_getattr("trainers")


class Trainer:
    """What a vocabulary is learned by."""


class BpeTrainer(Trainer):
    """The options of training BPE, with the meaning that tokenizers 0.23 gives them.

    vocab_size counts special tokens and alphabet. A token of max_token_length characters is not made, unless it is a
    pair of two; of initial_alphabet the first character of each str counts. Where several characters are equally rare
    and limit_alphabet leaves some out, those of the greatest code points go.
    """

    def __init__(
        self,
        *,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        progress_format: str = "indicatif",
        special_tokens: Sequence[str | AddedToken] = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Iterable[str] = (),
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
    ) -> None:
        if not isinstance(special_tokens, (list, tuple)):
            raise TypeError(f"special_tokens must be a list, not {type(special_tokens).__name__}: ids follow its order")
        check_several("initial_alphabet", "str", initial_alphabet)
        for name, value in (("limit_alphabet", limit_alphabet), ("max_token_length", max_token_length)):
            if value is not None:
                check_int(name, value, least=0)
        self.vocab_size = check_int("vocab_size", vocab_size, least=0)
        self.min_frequency = check_int("min_frequency", min_frequency, least=0)
        self.show_progress = check_bool("show_progress", show_progress)
        check_choice("progress_format", progress_format, ("indicatif", "silent"))
        self.progress_format = progress_format
        self.special_tokens = [AddedToken.of(token, special=True) for token in special_tokens]
        self.limit_alphabet = limit_alphabet
        self.initial_alphabet = [check_str("initial_alphabet", text)[:1] for text in initial_alphabet if text]
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.max_token_length = max_token_length

    @property
    def shows_progress(self) -> bool:
        """Whether bars are shown."""
        return self.show_progress and self.progress_format != "silent"
