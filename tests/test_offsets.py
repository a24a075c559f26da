"""Token offsets: the cases, the core against the reference, and tiktoken's own results."""

import random

import numpy as np
import pytest

from pairloom import Tokenizer, UnknownTokenIdError
from pairloom.reference import offsets as reference
from pairloom.reference.vocabulary import Model
from tests import cases
from tests.formats.models import ENDOFTEXT, trained
from tests.test_cases import present

CHARACTERS = "ab é😀東\n0" + "\u0301"


@pytest.mark.parametrize("case", cases.cases_of("offsets"), ids=str)
def test_cases_on_reference_and_core(case: cases.Case) -> None:
    ids, spans, chars = reference.encode_with_offsets(case.text, cases.model(case.model))
    assert (spans, chars) == (case.bytes, case.chars)
    assert reference.decode_with_offsets(ids, cases.model(case.model)) == (case.text, case.starts)
    tokenizer = present(case.model)
    assert tokenizer.encode_with_offsets(case.text)[0] == ids
    assert tokenizer.encode_with_offsets(case.text)[1].tolist() == list(map(list, case.chars))
    assert tokenizer.encode_with_offsets(case.text, unit="byte")[1].tolist() == list(map(list, case.bytes))
    assert tokenizer.decode_with_offsets(ids) == (case.text, case.starts)


def random_texts(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices([*CHARACTERS, ENDOFTEXT], k=rng.randrange(30))) for _ in range(n)]


def test_random_texts_as_the_reference_and_tiktoken() -> None:
    merges = [(97, 98), (0xC3, 0xA9), (0xA9, 97), (0x9F, 0x98), (32, 256), (0xF0, 259)]
    model = trained(merges, decode_errors="replace")
    tokenizer = Tokenizer.from_model(model)
    oracle = Model.of_bytes(merges, {ENDOFTEXT: 256 + len(merges)})
    theirs = tokenizer.to_tiktoken()
    texts = random_texts(1, 300)
    for text in texts:
        ids, spans, chars = reference.encode_with_offsets(text, oracle)
        found = tokenizer.encode_with_offsets(text)
        assert (found[0], found[1].tolist()) == (ids, list(map(list, chars)))
        assert tokenizer.encode_with_offsets(text, unit="byte")[1].tolist() == list(map(list, spans))
        assert tokenizer.decode_with_offsets(np.array(ids, np.uint16)) == theirs.decode_with_offsets(ids)
    for unit in ("char", "byte"):
        flat, offsets, all_spans = tokenizer.encode_batch_with_offsets(texts, unit=unit)
        for text, start, end in zip(texts, offsets[:-1], offsets[1:], strict=True):
            ids, each = tokenizer.encode_with_offsets(text, unit=unit)
            assert flat[start:end].tolist() == ids and all_spans[start:end].tolist() == each.tolist()


def test_offsets_with_special_tokens_as_text_and_errors() -> None:
    tokenizer = Tokenizer.from_model(trained([(97, 98)]))
    ids, spans = tokenizer.encode_with_offsets(ENDOFTEXT, allowed_special=())
    assert len(ids) == len(ENDOFTEXT) and spans[-1].tolist() == [12, 13]
    assert tokenizer.encode_batch_with_offsets([])[2].shape == (0, 2)
    assert tokenizer.decode_with_offsets([]) == ("", [])
    with pytest.raises(ValueError, match="unit must be one of 'char', 'byte'"):
        tokenizer.encode_with_offsets("a", unit="word")
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode_with_offsets([0xC3])
    with pytest.raises(UnknownTokenIdError):
        tokenizer.decode_with_offsets([9999])
