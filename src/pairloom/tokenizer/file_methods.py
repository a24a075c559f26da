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
    """Reads and writes files, and converts from and to other libraries' objects."""

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

        missing_bytes: as in `load`. Raises OSError, and FormatError that names file and place if a file is damaged.
        Pickled objects are refused: load them yourself, and pass them to Tokenizer().
        """
        vocab, merges = check_path("vocab_filepath", vocab_filepath), check_path("merges_filepath", merges_filepath)
        model = formats.gpt2.read_pair(vocab, merges, special_tokens=special_tokens)
        return cls.from_model(formats.with_missing_bytes(model, vocab, missing_bytes), name=vocab)

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
        """Loads a tokenizer from a file, or from a folder that contains one; both can be fsspec URLs (s3://...).

        In a model folder, tokenizer_config.json, special_tokens_map.json and the chat template are read too: they
        define `eos_token_id` and the like, and special tokens that are missing in the tokenizer's own file.

        format: "pairloom", "huggingface", "tiktoken", "gpt2", "tekken", "sentencepiece" or "gguf"; detected if None.
        pattern, special_tokens: for formats that do not store them (.tiktoken, vocab.json and merges.txt); pattern also
        for a GGUF file with an unknown pre-tokenizer.
        missing_bytes: what to do with a byte that has no token: "raise" MissingByteError when a text contains it, or
        "drop" it as HuggingFace does. None means "raise", and also warns while loading.
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
        """Loads the tokenizer of a HuggingFace hub repository such as "Qwen/Qwen3-8B"; needs the extra "huggingface".

        Only tokenizer files are downloaded, into huggingface_hub's cache. revision: a branch, tag or commit; name a
        commit to get the same ids tomorrow. Raises the errors of huggingface_hub and of `load`.
        """
        hub = import_optional("huggingface_hub", "Tokenizer.from_pretrained")
        patterns = list(formats.FILES_OF_A_FOLDER)
        folder = hub.snapshot_download(check_str("repo", repo), revision=revision, allow_patterns=patterns)
        return cls.from_model(formats.load(folder, missing_bytes=missing_bytes), name=repo)

    def save(self, path: PathLike, overwrite: bool = False, *, format: str | None = None) -> None:
        """Saves atomically as "pairloom", "huggingface", "tiktoken" or "gpt2" (a folder).

        format: None means "tiktoken" for a path that ends in .tiktoken, and "pairloom" for others; names that other
        programs use (tokenizer.json, vocab.json, .pkl) then raise FormatError. Equal tokenizers are saved as equal
        bytes, except that pairloom's own file also records how they were trained. Warns about what the format does not
        store. Raises FileExistsError unless `overwrite`, NotADirectoryError if a file is in the place of the folder,
        FormatError if the format cannot express this tokenizer exactly.
        """
        formats.save(self._model, path, overwrite=overwrite, format=format)

    def save_pretrained(self, path: PathLike, overwrite: bool = False) -> None:
        """Saves a folder that transformers can load: tokenizer.json, tokenizer_config.json, special_tokens_map.json,
        and chat_template.jinja if there is a chat template.

        Raises FileExistsError for an existing file unless `overwrite`, NotADirectoryError if a file is in the place of
        the folder, FormatError if a tokenizer.json cannot express this tokenizer exactly.
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
        """Makes a tokenizer from a map token -> rank, the format of tiktoken and rustbpe.

        pattern: a regular expression or the name of one. Raises FormatError for ranks that do not form a vocabulary.
        """
        if not isinstance(mergeable_ranks, Mapping):
            raise TypeError(f"mergeable_ranks must be a dict from bytes to int, not {type(mergeable_ranks).__name__}")
        name = "mergeable_ranks"
        model = formats.tiktoken.from_ranks(mergeable_ranks, pattern_text(pattern), special_tokens, name)
        model = formats.with_missing_bytes(model, name, missing_bytes)
        return cls.from_model(model, name=name)

    @classmethod
    def from_tiktoken(cls, encoding: Any, *, missing_bytes: MissingBytes | None = None) -> Self:
        """Converts a tiktoken.Encoding, with the same ids; FormatError if it lacks some of the 256 bytes."""
        model = formats.tiktoken.from_tiktoken(encoding)
        name = f"tiktoken encoding {encoding.name!r}"
        model = formats.with_missing_bytes(model, name, missing_bytes)
        return cls.from_model(model, name=name)

    def to_tiktoken(self, name: str = "pairloom") -> Any:
        """Returns a tiktoken.Encoding with the same ids; FormatError if that is impossible. Needs the extra "tiktoken".

        Like tiktoken, it decodes malformed bytes to U+FFFD, and warns if this tokenizer's decode_errors differ. It also
        warns about special tokens that HuggingFace does not treat as special, since tiktoken has one kind only.
        """
        self._warn_of_decode_errors("a tiktoken.Encoding")
        if plain := sorted(self._model.plain_specials):
            warn(f"a tiktoken.Encoding cannot store that HuggingFace does not treat {shown(plain)} as special")
        return formats.tiktoken.to_tiktoken(self._model, name)

    @classmethod
    def from_huggingface(cls, source: Any, *, missing_bytes: MissingBytes | None = None) -> Self:
        """Converts a tokenizers.Tokenizer or an object that wraps one, or loads the path of a tokenizer.json or folder.

        If the object has encode_special_tokens=True, its special tokens are plain text here unless `allowed_special`
        names them. Raises OSError, and FormatError for a tokenizer that cannot be expressed or lacks bytes.
        """
        if isinstance(source, (str, os.PathLike)):
            return cls.load(source, format="huggingface", missing_bytes=missing_bytes)
        model = formats.huggingface.from_huggingface(source)
        name = f"the {type(source).__name__}"
        model = formats.with_missing_bytes(model, name, missing_bytes)
        return cls.from_model(model, name=name)

    def to_huggingface(self) -> Any:
        """Returns a tokenizers.Tokenizer with the same ids; FormatError if impossible. Needs the extra "huggingface".

        Like that library, it decodes malformed bytes to U+FFFD, and warns if this tokenizer's decode_errors differ.
        """
        self._warn_of_decode_errors("a tokenizers.Tokenizer")
        return formats.huggingface.to_huggingface(self._model)

    def native_file(self) -> bytes:
        """Returns pairloom's own file without the training record, so that equal tokenizers return equal bytes.

        The bytes are cached; pickles and manifests use them.
        """
        if self._native is None:
            self._native = formats.native.write(self._model.replaced(training=None))
        return self._native

    def _warn_of_decode_errors(self, what: str) -> None:
        if (errors := self._model.decode_errors) != (usual := self._model.usual_errors):
            warn(f'{what} decodes malformed bytes with "{usual}"; this tokenizer has {errors!r}')
