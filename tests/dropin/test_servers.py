"""What model servers do with a tokenizer of `fast`, tested without a server: docs/guides/servers.md."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from pairloom import Tokenizer

pytest.importorskip("transformers")

from pairloom.dropin.transformers import fast

TEXT = "low lower <|end|> é"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    Tokenizer.train("low lower lowest " * 20, 270, special_tokens=["<|end|>"]).save_pretrained(path)
    return path


def test_fast_survives_the_wrappers_of_vllm(folder: Path) -> None:
    # They copy the object, shallowly and deeply, and put a subclass with cached properties in its class's place.
    expected = Tokenizer.load(folder).encode(TEXT)
    found = fast(folder)

    def cached(tokenizer: Any) -> Any:
        wrapped = copy.copy(tokenizer)
        members = {"max_token_id": property(lambda _: 269), "__reduce__": lambda _: (cached, (tokenizer,))}
        wrapped.__class__ = type("Cached", (type(tokenizer),), members)
        return wrapped

    for each in (cached(found), cached(copy.deepcopy(found)), copy.deepcopy(cached(found))):
        assert each.encode(TEXT) == expected
        assert each(TEXT)["input_ids"] == expected
        assert each.decode(expected) == TEXT
        assert each.max_token_id == 269
    assert pickle.loads(pickle.dumps(found)).encode(TEXT) == expected


def test_a_stream_of_tokenizers_takes_the_backend_of_fast(folder: Path) -> None:
    # As vLLM and `transformers serve` decode what a model answers; of a TypeError vLLM makes an empty text.
    import tokenizers
    import tokenizers.decoders

    found, theirs = fast(folder), tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = Tokenizer.load(folder).encode(TEXT)
    for skip in (False, True):
        texts = []
        for tokenizer in (found._tokenizer, theirs):
            stream = tokenizers.decoders.DecodeStream(ids=ids[:2], skip_special_tokens=skip)
            parts = [stream.step(tokenizer, token_id) for token_id in ids[2:-1]]
            texts.append([*parts, stream.step(tokenizer, ids[-1:])])
        assert texts[0] == texts[1]
    kept = found._tokenizer.current_stand_in()
    found._tokenizer.added_token_ids = {}
    assert found._tokenizer.current_stand_in() is kept
