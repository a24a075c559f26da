"""The ready-made tokenizer of the library that most training scripts use: ByteLevelBPETokenizer."""

from collections.abc import Iterable, Sequence
from typing import Any

from pairloom.dropin.tokenizers import decoders, normalizers, pre_tokenizers, processors
from pairloom.dropin.tokenizers.models import BPE
from pairloom.dropin.tokenizers.tokenizer import Tokenizer
from pairloom.dropin.tokenizers.trainers import BpeTrainer


class ByteLevelBPETokenizer:
    """BPE over bytes as GPT-2 has it: a `Tokenizer`, `_tokenizer`, whose other methods and parts are here too."""

    def __init__(
        self,
        vocab: Any = None,
        merges: Any = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: float | None = None,
        unicode_normalizer: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        trim_offsets: bool = False,
    ) -> None:
        if vocab is None or merges is None:
            # As in the library, which takes the other settings of a model with a vocabulary only.
            model = BPE()
        else:
            prefix, suffix = continuing_subword_prefix or "", end_of_word_suffix or ""
            model = BPE(vocab, merges, None, dropout, None, prefix, suffix)
        made = Tokenizer(model)
        steps = [normalizers.unicode_normalizer_from_str(unicode_normalizer)] if unicode_normalizer else []
        steps += [normalizers.Lowercase()] if lowercase else []
        made.normalizer = normalizers.Sequence(steps) if len(steps) > 1 else steps[0] if steps else None
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space)
        made.decoder = decoders.ByteLevel()
        made.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        self.__dict__["_tokenizer"] = made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"ByteLevelBPETokenizer has no attribute {name!r}")
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._tokenizer, name, value)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **settings: Any) -> "ByteLevelBPETokenizer":
        """The tokenizer of vocab.json and merges.txt."""
        return ByteLevelBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **settings)

    def train(self, files: str | Sequence[str], *options: Any, **named: Any) -> None:
        """Learns from a file or from several; options: vocab_size, min_frequency, show_progress, special_tokens."""
        self._tokenizer.train([files] if isinstance(files, str) else files, _trainer(*options, **named))

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Sequence[Any] = (),
        length: int | None = None,
    ) -> None:
        """Learns from texts, by the same options."""
        trainer = _trainer(vocab_size, min_frequency, show_progress, special_tokens)
        self._tokenizer.train_from_iterator(iterator, trainer, length)

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Writes vocab.json and merges.txt into a folder that is there, and returns their paths."""
        found: list[str] = self._tokenizer.model.save(directory, prefix)
        return found


def _trainer(
    vocab_size: int = 30000, min_frequency: int = 2, show_progress: bool = True, special_tokens: Sequence[Any] = ()
) -> BpeTrainer:
    return BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        show_progress=show_progress,
        special_tokens=special_tokens,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
