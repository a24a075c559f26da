"""The methods that load, save and convert a tokenizer; `pairloom.formats` does the work."""

import os
from collections.abc import Mapping
from typing import Any, Self

from pairloom import formats
from pairloom._internal.arguments import check_path, check_str, shown
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.warnings import warn
from pairloom.formats import MissingBytes
from pairloom.model import Pattern
from pairloom.patterns import pattern_text
from pairloom.tokenizer.base import PathLike, Specials, TokenizerBase


class FileMethods(TokenizerBase):
    """Files, and objects of other libraries."""

    __slots__ = ()

    @classmethod
    def from_files(
        cls,
        vocab_filepath: PathLike,
        merges_filepath: PathLike,
        special_tokens: Specials | None = None,
        *,
        missing_bytes: MissingBytes | None = None,
    ) -> Self:
        """Loads a GPT-2 vocab.json and merges.txt.

        Raises OSError, FormatError naming file and place when one is damaged. missing_bytes: as
        in `load`. Pickled objects are refused: load them yourself, and pass them to Tokenizer().
        """
        from pairloom.vocabulary import unreachable_text

        vocab, merges = check_path("vocab_filepath", vocab_filepath), check_path("merges_filepath", merges_filepath)
        model = formats.gpt2.read_pair(vocab, merges, special_tokens=special_tokens)
        model = formats.with_missing_bytes(model, vocab, missing_bytes)
        if (text := unreachable_text(model)) is not None:
            warn(f"{merges}: {text}")
        return cls.from_model(model, name=vocab)

    @classmethod
    def load(
        cls,
        path: PathLike,
        *,
        format: str | None = None,
        pattern: Pattern | None = None,
        special_tokens: Specials | None = None,
        missing_bytes: MissingBytes | None = None,
    ) -> Self:
        """Loads a tokenizer from a file, or from a folder that holds one; either may be at a URL of fsspec (s3://...).

        Of a model folder tokenizer_config.json, special_tokens_map.json and the chat template are read too: they say
        `eos_token_id` and its like, and name special tokens that the tokenizer's own file lacks.

        format: "pairloom", "huggingface", "tiktoken", "gpt2", "tekken", "sentencepiece" or "gguf"; detected if None.
        pattern, special_tokens: for formats that do not store them (.tiktoken, vocab.json and merges.txt); pattern: for
        a GGUF file of an unknown pre-tokenizer.
        missing_bytes: where the vocabulary lacks a byte, "raise" MissingByteError at a text that holds it, or "drop" it
        as HuggingFace does; None warns when such a vocabulary is loaded, and raises.
        Raises OSError, FormatError with the cause, the location and the remedy, PatternError for a pattern that does
        not compile.
        """
        model = formats.load(
            path,
            format=format,
            pattern=pattern,
            special_tokens=special_tokens,
            missing_bytes=missing_bytes,
        )
        return cls.from_model(model, name=os.fspath(path))

    @classmethod
    def from_pretrained(
        cls, repo: str, *, revision: str | None = None, missing_bytes: MissingBytes | None = None
    ) -> Self:
        """The tokenizer of a repository of the HuggingFace hub, as "Qwen/Qwen3-8B"; needs the extra "huggingface".

        Its tokenizer's files are fetched into the cache of huggingface_hub, and no weights. revision: a branch, tag or
        a commit; name a commit for the same ids tomorrow. Raises what huggingface_hub raises, and else as `load`.
        """
        hub = import_optional("huggingface_hub", "Tokenizer.from_pretrained")
        patterns = list(formats.FILES_OF_A_FOLDER)
        folder = hub.snapshot_download(check_str("repo", repo), revision=revision, allow_patterns=patterns)
        return cls.from_model(formats.load(folder, missing_bytes=missing_bytes), name=repo)

    def save(self, path: PathLike, overwrite: bool = False, *, format: str | None = None) -> None:
        """Saves atomically as "pairloom", "huggingface", "tiktoken" or "gpt2" (a folder).

        format: None is "tiktoken" for a path that ends in .tiktoken, a FormatError for a name of other programs'
        formats (tokenizer.json, vocab.json, .pkl), and "pairloom" for any other. Equal tokenizers give equal bytes, but
        that pairloom's own file keeps how they were trained. Warns about what the format does not store. Raises
        FileExistsError unless `overwrite`, NotADirectoryError for a file in the place of the folder, FormatError when
        the format cannot express this tokenizer exactly.
        """
        formats.save(self._model, path, overwrite=overwrite, format=format)

    def save_pretrained(self, path: PathLike, overwrite: bool = False) -> None:
        """Saves a folder that transformers loads: tokenizer.json, tokenizer_config.json, special_tokens_map.json, and
        chat_template.jinja if there is a chat template.

        Raises FileExistsError for a file that is there unless `overwrite`, NotADirectoryError for one in the place of
        the folder, FormatError when a tokenizer.json cannot express this tokenizer exactly.
        """
        formats.save_pretrained(self._model, path, overwrite=overwrite)

    @classmethod
    def from_ranks(
        cls,
        mergeable_ranks: Mapping[bytes, int],
        pattern: Pattern,
        special_tokens: Specials | None = None,
        *,
        missing_bytes: MissingBytes | None = None,
    ) -> Self:
        """The tokenizer of a map token -> rank, as tiktoken and rustbpe have it.

        pattern: a regular expression or the name of one. Raises FormatError for ranks that are no vocabulary.
        """
        if not isinstance(mergeable_ranks, Mapping):
            raise TypeError(f"mergeable_ranks must be a dict from bytes to int, not {type(mergeable_ranks).__name__}")
        name = "mergeable_ranks"
        model = formats.tiktoken.from_ranks(mergeable_ranks, pattern_text(pattern), special_tokens, name)
        model = formats.with_missing_bytes(model, name, missing_bytes)
        return cls.from_model(model, name=name)

    @classmethod
    def from_tiktoken(cls, encoding: Any, *, missing_bytes: MissingBytes | None = None) -> Self:
        """The tokenizer of a tiktoken.Encoding, with the same ids; FormatError if it lacks some of the 256 bytes."""
        model = formats.tiktoken.from_tiktoken(encoding)
        name = f"tiktoken encoding {encoding.name!r}"
        model = formats.with_missing_bytes(model, name, missing_bytes)
        return cls.from_model(model, name=name)

    def to_tiktoken(self, name: str = "pairloom") -> Any:
        """A tiktoken.Encoding with the same ids; needs the extra "tiktoken", FormatError if that is impossible.

        It decodes malformed bytes as tiktoken does, to U+FFFD: a tokenizer of other decode_errors gives a warning. So
        does one with special tokens that HuggingFace does not call special, since tiktoken has one kind.
        """
        self._warn_of_decode_errors("a tiktoken.Encoding")
        if plain := sorted(self._model.plain_specials):
            warn(f"a tiktoken.Encoding does not say that HuggingFace does not call {shown(plain)} special")
        return formats.tiktoken.to_tiktoken(self._model, name)

    @classmethod
    def from_huggingface(cls, source: Any, *, missing_bytes: MissingBytes | None = None) -> Self:
        """The tokenizer of a tokenizers.Tokenizer, of an object that wraps one, or of a path.

        The path is that of a tokenizer.json or of a folder with one. With encode_special_tokens=True the special tokens
        of the object are plain text unless `allowed_special` names them. Raises OSError, FormatError for what cannot be
        expressed, and where bytes are no tokens.
        """
        model = formats.huggingface.from_huggingface(source)
        name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else f"the {type(source).__name__}"
        model = formats.with_missing_bytes(model, name, missing_bytes)
        return cls.from_model(model, name=name)

    def to_huggingface(self) -> Any:
        """A tokenizers.Tokenizer with the same ids; needs the extra "huggingface", FormatError if that is impossible.

        It decodes malformed bytes as the library does, to U+FFFD: a tokenizer of other decode_errors gives a warning.
        """
        self._warn_of_decode_errors("a tokenizers.Tokenizer")
        return formats.huggingface.to_huggingface(self._model)

    def native_file(self) -> bytes:
        """What `save` writes in pairloom's own format, without how it was trained: equal tokenizers give equal bytes.

        They are kept, for pickles and manifests.
        """
        if self._native is None:
            self._native = formats.native.write(self._model.replaced(training=None))
        return self._native

    def _warn_of_decode_errors(self, what: str) -> None:
        if (errors := self._model.decode_errors) != (usual := self._model.usual_errors):
            warn(f'{what} decodes malformed bytes with "{usual}"; this tokenizer has {errors!r}')
