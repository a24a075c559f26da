"""The library's one trainer that pairloom supports: BpeTrainer."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pairloom._internal.arguments import check_bool, check_choice, check_int, check_iterable, check_str
from pairloom.dropin.tokenizers.components import AddedToken, not_taken


@dataclass(kw_only=True, eq=False, slots=True)
class BpeTrainer:
    """The options of training BPE, with the same meaning as in tokenizers 0.23.

    vocab_size includes special tokens and the alphabet. Tokens must be shorter than max_token_length characters, except
    for pairs of two characters. Only the first character of each str in initial_alphabet counts. If limit_alphabet
    drops some of several equally rare characters, it drops those with the largest code points.
    """

    vocab_size: int = 30000
    min_frequency: int = 0
    show_progress: bool = True
    progress_format: str = "indicatif"
    special_tokens: Any = ()
    limit_alphabet: int | None = None
    initial_alphabet: Iterable[str] = ()
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    max_token_length: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.special_tokens, (list, tuple)):
            kind = type(self.special_tokens).__name__
            raise TypeError(f"special_tokens must be a list, not {kind}: ids follow its order")
        self.special_tokens = [AddedToken.of(token, special=True) for token in self.special_tokens]
        check_iterable("initial_alphabet", "str", self.initial_alphabet)
        self.initial_alphabet = [check_str("initial_alphabet", text)[:1] for text in self.initial_alphabet if text]
        for name in ("vocab_size", "min_frequency", "limit_alphabet", "max_token_length"):
            if (value := getattr(self, name)) is not None or name in ("vocab_size", "min_frequency"):
                check_int(name, value, least=0)
        check_bool("show_progress", self.show_progress)
        check_choice("progress_format", self.progress_format, ("indicatif", "silent"))

    @property
    def shows_progress(self) -> bool:
        """Whether to show progress bars."""
        return self.show_progress and self.progress_format != "silent"


UnigramTrainer, WordLevelTrainer, WordPieceTrainer = not_taken("UnigramTrainer", "WordLevelTrainer", "WordPieceTrainer")
