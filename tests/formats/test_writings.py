"""Files as different tools write them: each form gives the same model."""

import base64
import json
import random
from typing import Any

import pytest

from pairloom import Tokenizer, formats
from pairloom.errors import FormatError
from pairloom.formats import huggingface, tiktoken
from pairloom.model import Model

TEXT = "the cat sat on the mat, the hat on the cat; café 12 \n\n\x00 naïve <x>" * 3


def test_other_writings_of_a_tokenizer_json_are_the_same_model() -> None:
    specials = ["<|endoftext|>", "a b", "<｜x｜>"]
    file = json.loads(huggingface.write(Tokenizer.train(TEXT, 330, "huggingface", special_tokens=specials).model))
    expected = formats.read("huggingface", json.dumps(file).encode())
    rng = random.Random(1)
    for _ in range(20):
        for where in (file, file["model"], file["model"]["vocab"]):
            entries = list(where.items())
            rng.shuffle(entries)
            where.clear()
            where.update(entries)
        text = json.dumps(file, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
        assert formats.read("huggingface", text.encode()) == expected


def test_foreign_entries_are_tokens_of_their_own_text() -> None:
    file = json.loads(huggingface.write(Tokenizer.train(TEXT, 270, special_tokens=()).model))
    vocab, merges = file["model"]["vocab"], file["model"]["merges"]
    vocab.update({"日": 5000, "本": 5001, "日本": 5002, "<s>": 5003, "æľª": 5004, "未": 5005})
    merges.append("日 本")
    file["added_tokens"] = [
        {"id": 5003, "content": "<s>", "special": True},
        {"id": 5005, "content": "未", "special": True},
    ]
    model = formats.read("huggingface", json.dumps(file).encode())
    tokens = model.tokens()
    assert tokens[5002] == "日本".encode() and tokens[5004] == "未".encode()
    assert tokens.keys().isdisjoint((5003, 5005)) and model.merges[-1].tolist() == [5000, 5001, 5002]
    vocab["æĹ¥"] = 6000
    with pytest.raises(FormatError, match="ids 5000 and 6000 have the same bytes"):
        formats.read("huggingface", json.dumps(file).encode())
    del vocab["æĹ¥"]
    file["model"]["ignore_merges"] = True
    with pytest.raises(FormatError, match='token "日" has characters outside the GPT-2 byte alphabet'):
        formats.read("huggingface", json.dumps(file).encode())


@pytest.mark.parametrize("as_file", [True, False])
@pytest.mark.parametrize(
    ("special_tokens", "expected"),
    [
        (None, {}),
        (["<s>"], {"<s>": 258}),
        ({"<s>": 5000}, {"<s>": 5000}),
        # A byte, and what merging makes, stay tokens; any other entry becomes only a special token.
        (["a", "th", "<m>"], {"a": 97, "th": 256, "<m>": 257}),
        ({"th": 5000}, {"th": 5000}),
        ({"<s>": 3}, "id 3, which belongs to a token with other bytes"),
    ],
)
def test_special_tokens_of_ranks(special_tokens: Any, expected: Any, as_file: bool) -> None:
    found = {bytes((byte,)): byte for byte in range(256)} | {b"th": 256, b"<m>": 257}
    lines = b"".join(b"%s %d\r\n" % (base64.b64encode(token), rank) for token, rank in reversed(found.items()))

    def read() -> Model:
        if as_file:
            return formats.read("tiktoken", lines, pattern="gpt2", special_tokens=special_tokens)
        return tiktoken.from_ranks(found, "gpt2", special_tokens)

    if isinstance(expected, str):
        with pytest.raises(FormatError, match=expected):
            read()
        return
    model = read()
    assert model.special_tokens == expected
    kept = found.keys() - ({b"<m>"} if "<m>" in expected else set())
    assert set(model.tokens().values()) == kept and model.ignore_merges == (b"<m>" in kept)
