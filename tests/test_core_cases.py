"""The core gives what the case files say."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer, pretokenize
from tests import cases


@pytest.mark.parametrize("case", cases.pretoken_cases(), ids=str)
def test_pretokens(case: cases.PretokenCase) -> None:
    assert pretokenize(case.text, case.pattern) == case.pretokens


@pytest.mark.parametrize("case", cases.document_cases(), ids=str)
def test_documents(case: cases.DocumentCase) -> None:
    counts = PretokenCounts.from_texts([case.text], special_tokens=case.special_tokens, corpus_specials="split")
    apart = PretokenCounts.from_texts(case.documents)
    assert list(counts.items()) == list(apart.items())
    assert counts.n_documents == len(case.documents)


def train(case: cases.TrainingCase) -> Tokenizer:
    if case.documents is not None:
        return Tokenizer.train(case.documents, case.vocab_size, case.profile, **case.fields)
    assert case.counts is not None
    counts = PretokenCounts.from_items(case.counts, case.all_fields["pattern"])
    return Tokenizer.train_from_counts(counts, case.vocab_size, case.profile, **case.fields)


@pytest.mark.filterwarnings("ignore:the corpus holds")
@pytest.mark.parametrize("case", cases.training_cases(), ids=str)
def test_training(case: cases.TrainingCase) -> None:
    if case.error:
        with pytest.raises(case.error.type) as caught:
            train(case)
        case.error.check(caught.value)
        return
    tokenizer = train(case)
    assert [(left, right) for left, right, _ in tokenizer.model.merges.tolist()] == case.merges
    assert tokenizer.special_tokens == case.special_tokens
    vocab = tokenizer.model.tokens()
    assert {token_id: vocab[token_id] for token_id in case.tokens} == case.tokens
    assert sorted([*vocab, *tokenizer.special_tokens.values()]) == list(range(case.n_tokens))


@cache
def tokenizer_named(name: str) -> Tokenizer | None:
    model = cases.model(name)
    if model is None:
        return None
    merges = [(model.vocab[left], model.vocab[right]) for left, right, _ in model.merges]
    tokenizer = Tokenizer(model.vocab, merges, model.special_tokens, pattern=model.pattern)
    return tokenizer.with_normalizer(model.normalizer)


def present(name: str) -> Tokenizer:
    tokenizer = tokenizer_named(name)
    if tokenizer is None:
        pytest.skip(f"the files of model {name} are not in {cases.CS336}")
    return tokenizer


@pytest.mark.parametrize("case", cases.encoding_cases(), ids=str)
def test_encoding(case: cases.EncodingCase) -> None:
    tokenizer = present(case.model)
    allowed: Any = case.allowed_special
    if case.error:
        with pytest.raises(case.error.type) as caught:
            tokenizer.encode(case.text, allowed_special=allowed, disallowed_special=case.disallowed_special)
        case.error.check(caught.value)
        return
    assert tokenizer.encode(case.text, allowed_special=allowed, disallowed_special=case.disallowed_special) == case.ids
    assert tokenizer.encode_to_numpy(case.text, allowed_special=allowed).tolist() == case.ids
    assert tokenizer.count_tokens(case.text, allowed_special=allowed) == len(case.ids)
    assert tokenizer.decode(case.ids) == (case.text if case.decoded is None else case.decoded)
    if allowed == "all":
        assert list(tokenizer.encode_iterable(case.text[i : i + 1] for i in range(len(case.text)))) == case.ids
        assert tokenizer.encode_batch([case.text] * 2, threads=2) == [case.ids] * 2


@pytest.mark.filterwarnings("ignore:.* of the ids move")
@pytest.mark.parametrize("case", cases.extending_cases(), ids=str)
def test_extending(case: cases.ExtendingCase) -> None:
    start = present(case.model)
    extended = start.extend(case.documents, n_tokens=case.n_tokens, keep_ids=case.keep_ids, **case.options)
    assert [tuple(merge) for merge in extended.model.merges.tolist()] == case.merges
    assert extended.special_tokens == case.special_tokens
    assert not case.keep_ids or extended.vocab.items() >= start.vocab.items()


@pytest.mark.parametrize("case", cases.decoding_cases(), ids=str)
def test_decoding(case: cases.DecodingCase) -> None:
    tokenizer = present(case.model)
    if case.error:
        with pytest.raises(case.error.type) as caught:
            tokenizer.decode(case.ids, case.errors, skip_special_tokens=case.skip_special_tokens)
        case.error.check(caught.value)
        return
    assert tokenizer.decode(case.ids, case.errors, skip_special_tokens=case.skip_special_tokens) == case.text
