"""The library's ready-made BPE tokenizers: GPT-2's and SentencePiece's."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from pairloom.dropin.tokenizers import decoders, normalizers, pre_tokenizers, processors
from pairloom.dropin.tokenizers.components import not_taken
from pairloom.dropin.tokenizers.models import BPE
from pairloom.dropin.tokenizers.tokenizer import Tokenizer
from pairloom.dropin.tokenizers.trainers import BpeTrainer

_PARTS = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")
_SIZES: dict[str, Any] = {"vocab_size": 30000, "min_frequency": 2}


class BaseTokenizer:
    """Wraps a `Tokenizer`, `_tokenizer`, and passes its other methods and parts on."""

    _options: ClassVar[dict[str, Any]] = {}
    """The options of training in the order of the arguments, with their defaults."""

    def __init__(self, tokenizer: Tokenizer, parameters: dict[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = parameters or {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PARTS:
            setattr(self._tokenizer, name, value)
        else:
            object.__setattr__(self, name, value)

    @classmethod
    def from_file(cls, vocab_filename: str, merges_filename: str, **settings: Any) -> Any:
        """Makes the tokenizer from vocab.json and merges.txt."""
        made: Any = cls
        return made(*BPE.read_file(vocab_filename, merges_filename), **settings)

    def train(self, files: str | Sequence[str], *options: Any, **named: Any) -> None:
        """Trains on one file or several. options: the options of `BpeTrainer` that `_options` names."""
        self._tokenizer.train([files] if isinstance(files, str) else files, self._trainer(options, named))

    def train_from_iterator(self, iterator: Iterable[Any], *options: Any, **named: Any) -> None:
        """Trains on texts, with the options of `train`. `length` is ignored."""
        self._tokenizer.train_from_iterator(iterator, self._trainer(options, named))

    def _trainer(self, given: Sequence[Any], named: dict[str, Any]) -> BpeTrainer:
        known = self._options
        if len(given) > len(known) or not named.keys() <= known.keys():
            raise TypeError(f"the options of training are {', '.join(known)}")
        options = known | dict(zip(known, given, strict=False)) | named
        del options["length"]
        return BpeTrainer(**options)

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Writes vocab.json and merges.txt into an existing folder, and returns their paths."""
        found: list[str] = self._tokenizer.model.save(directory, prefix)
        return found

    def normalize(self, sequence: str) -> str:
        """Returns the normalized text."""
        return self._tokenizer.normalizer.normalize_str(sequence)  # type: ignore[union-attr]


class ByteLevelBPETokenizer(BaseTokenizer):
    """BPE over bytes, as in GPT-2."""

    _options: ClassVar[dict[str, Any]] = {
        **_SIZES,
        "show_progress": True,
        "special_tokens": (),
        "length": None,
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
    }

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
            # As in the library, which ignores the model's other settings unless it gets a vocabulary.
            model = BPE()
        else:
            prefix, suffix = continuing_subword_prefix or "", end_of_word_suffix or ""
            model = BPE(vocab, merges, None, dropout, None, prefix, suffix)
        made = Tokenizer(model)
        form = [normalizers.unicode_normalizer_from_str(unicode_normalizer)] if unicode_normalizer else []
        steps = [*form, normalizers.Lowercase()] if lowercase else form
        made.normalizer = normalizers.Sequence(steps) if len(steps) > 1 else steps[0] if steps else None
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space)
        made.decoder = decoders.ByteLevel()
        made.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        super().__init__(made)


class SentencePieceBPETokenizer(BaseTokenizer):
    """BPE over characters, where a word begins with a letter for the space before it, as in SentencePiece."""

    _options: ClassVar[dict[str, Any]] = {
        **_SIZES,
        "special_tokens": ("<unk>",),
        "limit_alphabet": 1000,
        "initial_alphabet": (),
        "show_progress": True,
        "length": None,
    }

    def __init__(
        self,
        vocab: Any = None,
        merges: Any = None,
        unk_token: Any = "<unk>",
        replacement: str = "\u2581",
        add_prefix_space: bool = True,
        dropout: float | None = None,
        fuse_unk: bool | None = False,
    ) -> None:
        made = Tokenizer(BPE(vocab, merges, dropout=dropout, unk_token=unk_token, fuse_unk=bool(fuse_unk)))
        if unk_token in made.model.vocab:
            made.add_special_tokens([unk_token])
        made.normalizer = normalizers.NFKC()
        prepends = "always" if add_prefix_space else "never"
        made.pre_tokenizer = pre_tokenizers.Metaspace(replacement, prepends)
        made.decoder = decoders.Metaspace(replacement, prepends)
        super().__init__(made)


BertWordPieceTokenizer, CharBPETokenizer, SentencePieceUnigramTokenizer = not_taken(
    "BertWordPieceTokenizer", "CharBPETokenizer", "SentencePieceUnigramTokenizer"
)
