"""Reads and writes tokenizer files as `Model`.

The core detects a file's format and reads it (`reader`). Each format's module has a `write` that returns the file's
bytes, or raises FormatError with the reason if the format cannot express the model exactly. `save` warns about what a
format does not store, such as the pattern in a .tiktoken file.
"""

import contextlib
import errno
import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from pairloom import _core
from pairloom._internal import atomic
from pairloom._internal.arguments import as_text, check_bool, check_choice, check_path, shown
from pairloom._internal.optional_deps import import_optional
from pairloom._internal.urls import errors_of_store, is_url, public_url
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError
from pairloom.formats import gpt2, huggingface, native, pretrained, tekken, tiktoken
from pairloom.formats.reader import Specials
from pairloom.formats.reader import read as read
from pairloom.model import DROP_STEP, KEPT_TOKENIZER_JSON, WORDS, Model, Pattern, config_of
from pairloom.patterns import pattern_name, pattern_text

PathLike = str | os.PathLike[str]
MissingBytes = Literal["raise", "drop"]
MISSING_BYTES: tuple[MissingBytes, ...] = get_args(MissingBytes)
"""What encoding does with a byte that has no token."""

READABLE = ("pairloom", "huggingface", "tiktoken", "gpt2", "tekken", "sentencepiece", "gguf")
"""The names that `load` takes for `format`."""

WRITABLE = ("pairloom", "huggingface", "tiktoken", "gpt2", "tekken")
"""The names that `save` takes for `format`."""

INCOMPLETE = ("tiktoken", "gpt2")
"""Formats that store neither pattern nor special tokens; `load` takes them as arguments."""

FILES_OF_A_FOLDER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "additional_chat_templates/*",
    "vocab.json",
    "merges.txt",
    "tekken.json",
    "tokenizer.model",
    "*.tiktoken",
)
"""The files of a model folder that belong to its tokenizer."""

_HEAD_BYTES = 4096
_TEKKEN_NAME, _SENTENCEPIECE_NAME = "tekken.json", "tokenizer.model"
_GGUF_BYTES = 256 << 20
# How much of a GGUF file to read: the tokenizer is at its beginning, before the weights of the model.


def load(
    path: PathLike,
    *,
    format: str | None = None,
    pattern: Pattern | None = None,
    special_tokens: Specials | None = None,
    missing_bytes: MissingBytes | None = None,
) -> Model:
    """Reads a file or folder; arguments, warnings and errors are those of `Tokenizer.load`.

    In a folder, reads the first that it finds of tokenizer.json, vocab.json with merges.txt, tekken.json, a .tiktoken
    file, tokenizer.model and a .gguf file; and the settings beside it (`pretrained`).
    """
    if format is not None:
        check_choice("format", format, READABLE)
    if pattern is not None:
        pattern = pattern_text(pattern)
    if isinstance(path, str) and is_url(path):
        with _fetched(path) as copy:
            return load(
                copy, format=format, pattern=pattern, special_tokens=special_tokens, missing_bytes=missing_bytes
            )
    file = Path(check_path("path", path))
    if re.fullmatch(r"[\w.-]+/[\w.-]+", str(path)) and not file.parent.exists():
        remedy = f"if it is a repository on the HuggingFace hub, Tokenizer.from_pretrained({str(path)!r}) fetches it"
        raise FileNotFoundError(errno.ENOENT, f"there is no such file or folder; {remedy}", str(path))
    companions, folder, incomplete = None, str(file), False
    if file.is_dir():
        companions = pretrained.read(file)
        if format != "gpt2":
            file, format = _in_folder(file, format)
        if incomplete := bool(companions) and special_tokens is None and format in INCOMPLETE:
            special_tokens = pretrained.special_tokens(companions, folder)
    if format == "gpt2":
        pair = file / gpt2.VOCAB_NAME, file / gpt2.MERGES_NAME
        model = gpt2.read_pair(*pair, pattern=pattern, special_tokens=special_tokens)
        if companions and pattern is None:
            pretrained.check_class(companions, folder)
        if incomplete and isinstance(special_tokens, Mapping):
            pretrained.check_listed(special_tokens, file / gpt2.VOCAB_NAME)
    else:
        # Read only once: the path can be a pipe.
        with file.open("rb") as opened:
            data = opened.read(_HEAD_BYTES)
            data += opened.read(_GGUF_BYTES if data.startswith(b"GGUF") else -1)
        if format is None:
            format = _core.format_of(data[:_HEAD_BYTES], as_text(str(file)))
        if special_tokens is not None and format != "tiktoken":
            what = f"{file}: a file of format {format!r} contains its own special_tokens"
            raise ValueError(f"{what}; leave out special_tokens=")
        model = read(format, data, str(file), pattern=pattern, special_tokens=special_tokens, beside=companions)
    if format != "pairloom" or missing_bytes is not None:
        # A file in pairloom's own format needs no warning: it was given when the model was first loaded.
        model = with_missing_bytes(model, str(file), missing_bytes)
    if companions is None:
        return model
    if format != "huggingface" and model.post_processor is None and (said := pretrained.bos_eos_settings(companions)):
        warn(
            f"{folder}: {pretrained.CONFIG_NAME} says {said}, but the tokenizer has no post-processor, so "
            "add_special_tokens=True adds nothing; add the id yourself, or let transformers save a tokenizer.json"
        )
    return pretrained.apply(model, companions, folder, incomplete=incomplete)


def _name_of(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@contextlib.contextmanager
def _fetched(url: str) -> Iterator[Path]:
    """Copies a file at a URL, or a folder's tokenizer files, and yields the local path."""
    # Imported here because it is slow to import.
    import tempfile

    from pairloom.corpus.remote import copy_remote

    name = public_url(url).rstrip("/")
    with tempfile.TemporaryDirectory(prefix="pairloom-") as local:
        copy = Path(local, _name_of(name))
        with errors_of_store(name):
            files, path = import_optional("fsspec", "reading URLs").core.url_to_fs(url)
            # Object stores have no folders: if no object's name begins with this one, listing raises an error.
            listed = None if files.isfile(path) else [_name_of(found) for found in files.ls(path, detail=False)]
            if listed and (inner := pretrained.TEMPLATES_NAME) in listed:
                listed += [f"{inner}/{_name_of(found)}" for found in files.ls(f"{path}/{inner}", detail=False)]
        if listed is None:
            copy_remote(url, copy)
        else:
            (copy / pretrained.TEMPLATES_NAME).mkdir(parents=True)
            for file in listed:
                if any(fnmatch.fnmatch(file, wanted) for wanted in FILES_OF_A_FOLDER):
                    copy_remote(f"{url.rstrip('/')}/{file}", copy / file)
        try:
            yield copy
        except FormatError as error:
            raise type(error)(str(error).replace(str(copy), name)) from error


def with_missing_bytes(model: Model, name: str, choice: MissingBytes | None) -> Model:
    """Returns the model, set up for bytes of UTF-8 that its vocabulary lacks; `name` is its file, for messages.

    choice: "raise" raises MissingByteError for a text that holds such a byte; "drop" leaves these bytes out of
    pretokens before merging, as HuggingFace's library does; None is "raise" with a warning that names them, or what a
    file of pairloom's own says.
    Raises FormatError for "drop" with ignore_merges, or if the file's library replaces such bytes by other tokens.
    """
    if choice is not None:
        check_choice("missing_bytes", choice, MISSING_BYTES)
    if (unknown := model.unknown) is not None:
        leaves_out = any(step.startswith(WORDS) for step in model.normalizer)
        warn(
            f"{name}{': ' * bool(name)}a character without a token becomes id {unknown[0]}, as in the library that "
            f"made the file, so decoding cannot restore it{', nor restore white space' * leaves_out}"
        )
        return model
    # UTF-8 never holds 0xc0, 0xc1 and 0xf5 to 0xff.
    if not any(byte < 0xF5 and byte not in (0xC0, 0xC1) for byte in model.missing_bytes()):
        return model
    kept = config_of(model).get(KEPT_TOKENIZER_JSON)
    are_replaced = isinstance(kept, dict) and "model" in kept
    if DROP_STEP in model.normalizer:
        raises = tuple(step for step in model.normalizer if step != DROP_STEP)
        return model.replaced(normalizer=raises) if choice == "raise" else model
    if choice == "drop":
        if are_replaced:
            raise FormatError(
                f'{name}: missing_bytes="drop" is not supported with unk_token or byte_fallback, which give such bytes '
                "other ids in HuggingFace's library; use pairloom.dropin.tokenizers.Tokenizer"
            )
        if model.ignore_merges:
            raise FormatError(
                f'{name}: missing_bytes="drop" is not supported for a tokenizer that looks up whole pretokens'
            )
        return model.replaced(normalizer=(DROP_STEP, *model.normalizer))
    if choice is None:
        from pairloom.vocabulary import missing_bytes_text

        drop = "" if are_replaced else '"drop" to drop such bytes, as HuggingFace does, or '
        warn(
            f"{name}{': ' * bool(name)}{missing_bytes_text(model)}; text that contains one cannot be encoded"
            f' (MissingByteError). Load it with missing_bytes={drop}"raise" if that is intended'
        )
    return model


def save(model: Model, path: PathLike, *, overwrite: bool = False, format: str | None = None) -> None:
    """Writes the model atomically: either the whole file (for "gpt2" a folder) appears, or nothing does.

    Arguments, warnings and errors are those of `Tokenizer.save`.
    """
    target = Path(check_path("path", path))
    check_bool("overwrite", overwrite)
    format = _format_for(target, format)
    # Fail before translating if the target cannot be written.
    check_target(target, format, overwrite)
    translated = _file_contents(model, format)
    if isinstance(translated, bytes):
        atomic.write_file(target, translated, overwrite)
    else:
        atomic.write_folder(target, translated, overwrite)
    if format == "gpt2" and (target / huggingface.FILE_NAME).is_file():
        warn(
            f"{target}: the folder also contains a {huggingface.FILE_NAME}, which is loaded first; load with"
            ' format="gpt2", or remove that file'
        )
    if not_stored := _not_stored_message(model, format):
        warn(f"{target}: {not_stored}")


def _not_stored_message(model: Model, format: str) -> str:
    """Returns a message about what the format does not store, and how to pass it when loading; empty if nothing."""
    missing, arguments = [], []
    if format == "tiktoken":
        missing.append("the pattern")
        arguments.append(f"pattern={shown(pattern_name(model.pattern) or model.pattern)}")
    if format in INCOMPLETE and model.special_tokens:
        missing.append("the special tokens")
        arguments.append(f"special_tokens={shown(dict(model.special_tokens))}")
    remedy = f"; when it is loaded, pass {' and '.join(arguments)}" if arguments else ""
    if format in (*INCOMPLETE, "tekken") and model.plain_specials:
        missing.append(f"that HuggingFace does not treat {shown(sorted(model.plain_specials))} as special")
    if format != "pairloom" and config_of(model).keys() - ({KEPT_TOKENIZER_JSON} if format == "huggingface" else ()):
        missing.append("the names of special tokens (bos_token, eos_token) and the chat template")
        remedy += "; save_pretrained(folder) stores them"
    if format != "pairloom" and model.decode_errors != model.usual_errors:
        missing.append(f"decode_errors={model.decode_errors!r}")
        remedy += f'; it will load with decode_errors="{model.usual_errors}"'
    return f"format {format!r} does not store {', '.join(missing)}{remedy}" if missing else ""


def save_pretrained(model: Model, path: PathLike, *, overwrite: bool = False) -> None:
    """Writes a folder for transformers to load: a tokenizer.json and its settings files (`pretrained`)."""
    target = Path(check_path("path", path))
    check_bool("overwrite", overwrite)
    atomic.check_folder(target, (), overwrite)
    tokenizer_json = huggingface.write(pretrained.without_split(model))
    atomic.write_folder(target, {huggingface.FILE_NAME: tokenizer_json, **pretrained.write(model)}, overwrite)
    if model.decode_errors != model.usual_errors:
        warn(
            f"{target}: the folder does not store decode_errors={model.decode_errors!r}; it will load with"
            f' decode_errors="{model.usual_errors}"'
        )


def _tiktoken_files(folder: Path) -> list[Path]:
    """Returns the folder's rank files: *.tiktoken, or *.model as some publishers call them."""
    files = sorted(folder.glob("*.tiktoken")) or sorted(folder.glob("*.model"))
    found = []
    for path in files:
        with contextlib.suppress(FormatError):
            if format_of(path) == "tiktoken":
                found.append(path)
    return found


def check_target(path: PathLike, format: str | None, overwrite: bool) -> None:
    """Raises the OSError that `save` would raise if the path exists or its folder does not."""
    target = Path(check_path("path", path))
    if format == "gpt2":
        atomic.check_folder(target, (gpt2.VOCAB_NAME, gpt2.MERGES_NAME), overwrite)
    else:
        atomic.check_file(target, overwrite)


def check_expressible(model: Model, path: PathLike, format: str | None) -> None:
    """Raises the FormatError that `save` would raise, without writing anything."""
    target = Path(check_path("path", path))
    _file_contents(model, _format_for(target, format))


# Names and suffixes that other programs use for their own files, and the format that writes those.
_FOREIGN_FILE_NAMES = {
    "tokenizer.json": ("HuggingFace's format", "huggingface"),
    "vocab.json": ("a GPT-2 file", "gpt2"),
    "merges.txt": ("a GPT-2 file", "gpt2"),
    "tekken.json": ("Mistral's format", "tekken"),
    ".pkl": ("a pickle", None),
    ".pickle": ("a pickle", None),
}


def _format_for(target: Path, format: str | None) -> str:
    if format is None:
        if other := _FOREIGN_FILE_NAMES.get(target.name) or _FOREIGN_FILE_NAMES.get(target.suffix.lower()):
            what, theirs = other
            for_theirs = f'format="{theirs}" for that{" (a folder)" * (theirs == "gpt2")}, or ' if theirs else ""
            raise FormatError(
                f"{target}: this name is for {what}, not for pairloom's own format; pass"
                f' {for_theirs}format="pairloom" if you want that format'
            )
        return "tiktoken" if target.suffix.lower() == ".tiktoken" else "pairloom"
    check_choice("format", format, WRITABLE)
    return format


def _file_contents(model: Model, format: str) -> bytes | dict[str, bytes]:
    """Returns the file's bytes, or a folder's files by name."""
    writers: dict[str, Callable[[Model], bytes | dict[str, bytes]]] = {
        "gpt2": gpt2.write,
        "pairloom": native.write,
        "huggingface": huggingface.write,
        "tiktoken": tiktoken.write,
        "tekken": tekken.write,
    }
    return writers[format](model)


def format_of(path: Path) -> str:
    """Returns the format of a file or folder, detected from the first bytes. FormatError if unknown."""
    if path.is_dir():
        path, format = _in_folder(path, None)
        if format is not None:
            return format
    with path.open("rb") as file:
        return _core.format_of(file.read(_HEAD_BYTES), as_text(str(path)))


def _in_folder(folder: Path, format: str | None) -> tuple[Path, str | None]:
    """Returns the tokenizer's path in the folder (of `format`, if given), and its format if known."""
    if format in (None, "huggingface", "pairloom") and (folder / huggingface.FILE_NAME).is_file():
        return folder / huggingface.FILE_NAME, format
    if format is None and any((folder / name).is_file() for name in (gpt2.VOCAB_NAME, gpt2.MERGES_NAME)):
        return folder, "gpt2"
    if format in (None, "tekken") and (folder / _TEKKEN_NAME).is_file():
        return folder / _TEKKEN_NAME, "tekken"
    if format in (None, "tiktoken") and (files := _tiktoken_files(folder)):
        if len(files) > 1:
            raise FormatError(
                f"{folder}: the folder contains {files[0].name} and {files[1].name}; pass the path of one of them"
            )
        return files[0], "tiktoken"
    if format in (None, "sentencepiece") and (folder / _SENTENCEPIECE_NAME).is_file():
        return folder / _SENTENCEPIECE_NAME, None
    if format in (None, "gguf") and len(files := sorted(folder.glob("*.gguf"))) == 1:
        return files[0], "gguf"
    names = (huggingface.FILE_NAME, f"{gpt2.VOCAB_NAME} with {gpt2.MERGES_NAME}", _TEKKEN_NAME, "*.tiktoken")
    wanted = f"{', '.join(names)}, {_SENTENCEPIECE_NAME} or one *.gguf"
    raise FormatError(
        f"{folder}: the folder contains no tokenizer{'' if format is None else f' of format {format!r}'} (looked for"
        f" {wanted}); pass the path of a file in it"
    )
