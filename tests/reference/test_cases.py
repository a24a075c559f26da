"""The reference gives what the case files say."""

from functools import cache

import pytest

from pairloom.reference import documents, naive
from pairloom.reference.extend import extend
from pairloom.reference.vocabulary import Merge, Model
from tests import cases


@pytest.mark.parametrize("case", cases.pretoken_cases(), ids=str)
def test_pretokens(case: cases.PretokenCase) -> None:
    pretokens = naive.pretokenize(case.text, case.pattern)
    assert pretokens == case.pretokens
    assert b"".join(pretokens) == case.text.encode()


@pytest.mark.parametrize("case", cases.document_cases(), ids=str)
def test_documents(case: cases.DocumentCase) -> None:
    assert documents.split_on_special_tokens(case.text, case.special_tokens) == case.pieces
    assert documents.documents_of(case.text, case.special_tokens) == case.documents


def train(case: cases.TrainingCase) -> Model:
    if case.documents is not None:
        return naive.train(case.documents, case.vocab_size, **case.all_fields)
    assert case.counts is not None
    fields = {name: value for name, value in case.all_fields.items() if name != "corpus_specials"}
    return naive.train_from_counts(case.counts, case.vocab_size, **fields)


@pytest.mark.parametrize("case", cases.training_cases(), ids=str)
def test_training(case: cases.TrainingCase) -> None:
    if case.error:
        with pytest.raises(case.error.type) as caught:
            train(case)
        case.error.check(caught.value)
        return
    model = train(case)
    assert [(left, right) for left, right, _ in model.merges] == case.merges
    assert model.special_tokens == case.special_tokens
    assert {token_id: model.vocab[token_id] for token_id in case.tokens} == case.tokens
    assert len(model.vocab) + len(model.special_tokens) == case.n_tokens
    assert sorted([*model.vocab, *model.special_tokens.values()]) == list(range(case.n_tokens))
    assert all(
        model.vocab[merged_id] == model.vocab[left] + model.vocab[right] for left, right, merged_id in model.merges
    )


@cache
def model_named(name: str) -> Model:
    found = cases.model(name)
    if found is None:
        pytest.skip(f"the files of model {name} are not in {cases.CS336}")
    merges = [Merge(*merge) for merge in found.merges]
    return Model(found.vocab, merges, found.special_tokens, found.pattern, found.normalizer)


@pytest.mark.parametrize("case", cases.encoding_cases(), ids=str)
def test_encoding(case: cases.EncodingCase) -> None:
    model = model_named(case.model)
    special = {"allowed_special": case.allowed_special, "disallowed_special": case.disallowed_special}
    if case.error:
        with pytest.raises(case.error.type) as caught:
            naive.encode(case.text, model, **special)
        case.error.check(caught.value)
        return
    ids = naive.encode(case.text, model, **special)
    assert ids == case.ids
    assert naive.decode(ids, model) == (case.text if case.decoded is None else case.decoded)


@pytest.mark.parametrize("case", cases.extending_cases(), ids=str)
def test_extending(case: cases.ExtendingCase) -> None:
    start = model_named(case.model)
    extended = extend(case.documents, start, case.n_tokens, keep_ids=case.keep_ids, **case.options)
    assert extended.merges == case.merges
    assert extended.special_tokens == case.special_tokens


@pytest.mark.parametrize("case", cases.decoding_cases(), ids=str)
def test_decoding(case: cases.DecodingCase) -> None:
    model = model_named(case.model)
    if case.error:
        with pytest.raises(case.error.type) as caught:
            naive.decode(case.ids, model, case.errors, skip_special_tokens=case.skip_special_tokens)
        case.error.check(caught.value)
        return
    assert naive.decode(case.ids, model, case.errors, skip_special_tokens=case.skip_special_tokens) == case.text
