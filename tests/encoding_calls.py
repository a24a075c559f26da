"""Helpers that check every call from text to ids against the reference, and that decode ids as a stream."""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pairloom import Tokenizer, tokenize_files


def check_encoding_calls(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    encode: Callable[[str], list[int]],
    encode_ordinary: Callable[[str], list[int]],
    folder: Path,
) -> None:
    """Compares texts singly, in batches, in pieces and as a file; `encode` and `encode_ordinary` are the reference."""
    wanted, ordinary = list(map(encode, texts)), list(map(encode_ordinary, texts))
    assert [tokenizer.encode(text) for text in texts] == wanted
    assert [tokenizer.encode_ordinary(text) for text in texts] == ordinary
    assert [tokenizer.encode(text, allowed_special=()) for text in texts] == ordinary
    assert tokenizer.encode_batch(texts, threads=2) == wanted
    assert tokenizer.encode_ordinary_batch(texts) == ordinary
    assert [tokenizer.encode_to_numpy(text).tolist() for text in texts] == wanted
    assert tokenizer.encode_batch_to_numpy(texts)[0].tolist() == list(chain(*wanted))
    assert [tokenizer.count_tokens(text) for text in texts] == list(map(len, wanted))
    assert tokenizer.count_tokens_batch(texts).tolist() == list(map(len, wanted))
    assert [tokenizer.as_huggingface().encode(text).ids for text in texts] == wanted
    for text, ids in zip(texts, wanted, strict=True):
        for size in (1, 3, 1000):
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            assert list(tokenizer.encode_iterable(pieces)) == ids
    path = folder / "text"
    whole = "".join(texts) * 3
    path.write_text(whole, newline="")
    assert tokenizer.encode_file(path, threads=2).tolist() == encode(whole)
    assert tokenizer.encode_file(path, specials="ordinary").tolist() == tokenizer.encode_ordinary(whole)
    assert ids_in_shards(tokenizer, texts, folder / "recognised", "recognise") == list(chain(*wanted))
    assert ids_in_shards(tokenizer, texts, folder / "ordinary", "ordinary") == list(chain(*ordinary))


def ids_in_shards(tokenizer: Tokenizer, texts: Sequence[str], folder: Path, specials: str) -> list[int]:
    """Returns the ids that `tokenize_files` writes if each text is a record."""
    records = folder.with_suffix(".jsonl")
    records.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenize_files(tokenizer, [records], folder, specials=specials)
    found: list[int] = np.concatenate([np.load(shard) for shard in sorted(folder.glob("shard-*[0-9].npy"))]).tolist()
    return found


def streamed(tokenizer: Tokenizer, ids: Iterable[int], prompt: Iterable[int] = (), **options: Any) -> str:
    """Returns the text of the ids, decoded one by one after a prompt."""
    stream = tokenizer.decode_stream(prompt, **options)
    return "".join([*map(stream.push, ids), stream.finish()])
