"""The core and the reference return what the case files say."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from pairloom import PretokenCounts, Tokenizer, pretokenize
from pairloom.reference import documents, naive
from pairloom.reference import extend as reference_extend
from pairloom.reference.special_rules import split_by_rules
from tests import cases

on_both = pytest.mark.parametrize("is_reference", [False, True], ids=["core", "reference"])


@contextmanager
def as_expected(error: cases.ExpectedError | None) -> Iterator[None]:
    """Asserts that the block raises the error, if one is expected."""
    if error is None:
        yield
        return
    with pytest.raises(error.type) as caught:
        yield
    error.check(caught.value)


@cache
def present(name: str) -> Tokenizer:
    model = cases.model(name)
    merges = [(model.vocab[left], model.vocab[right]) for left, right, _ in model.merges]
    tokenizer = Tokenizer(model.vocab, merges, model.special_tokens, pattern=model.pattern)
    return tokenizer.with_normalizer(model.normalizer)


@on_both
@pytest.mark.parametrize("case", cases.cases_of("pretokens"), ids=str)
def test_pretokens(case: cases.Case, is_reference: bool) -> None:
    pretokens = (naive.pretokenize if is_reference else pretokenize)(case.text, case.pattern)
    assert pretokens == case.pretokens
    assert b"".join(pretokens) == case.text.encode()


@pytest.mark.parametrize("case", cases.cases_of("documents"), ids=str)
def test_documents(case: cases.Case) -> None:
    pieces = split_by_rules(case.text, case.special_tokens, ())
    assert [piece if literal is None else literal for piece, literal in pieces] == case.pieces
    assert documents.documents_of(case.text, case.special_tokens) == case.documents
    counts = PretokenCounts.from_texts([case.text], special_tokens=case.special_tokens, corpus_specials="split")
    apart = PretokenCounts.from_texts(case.documents)
    assert list(counts.items()) == list(apart.items())
    assert counts.n_documents == len(case.documents)


def trained(case: cases.Case) -> tuple[list[Any], dict[str, int], dict[int, bytes]]:
    """Returns (merges, special tokens, vocabulary) from the core."""
    if case.documents is not None:
        tokenizer = Tokenizer.train(case.documents, case.vocab_size, case.profile, **case.fields)
    else:
        counts = PretokenCounts.from_items(case.counts or {}, case.all_fields["pattern"])
        tokenizer = Tokenizer.train_from_counts(counts, case.vocab_size, case.profile, **case.fields)
    return tokenizer.model.merges.tolist(), tokenizer.special_tokens, tokenizer.model.tokens()


def trained_by_reference(case: cases.Case) -> tuple[list[Any], dict[str, int], dict[int, bytes]]:
    """The merges, special tokens and vocabulary that the reference learns in a case."""
    if case.documents is not None:
        model = naive.train(case.documents, case.vocab_size, **case.all_fields)
    else:
        fields = {name: value for name, value in case.all_fields.items() if name != "corpus_specials"}
        model = naive.train_from_counts(case.counts or {}, case.vocab_size, **fields)
    return model.merges, model.special_tokens, model.vocab


@on_both
@pytest.mark.filterwarnings("ignore:the corpus holds")
@pytest.mark.parametrize("case", cases.training_cases(), ids=str)
def test_training(case: cases.Case, is_reference: bool) -> None:
    with as_expected(case.error):
        merges, special_tokens, vocab = (trained_by_reference if is_reference else trained)(case)
        assert [(left, right) for left, right, _ in merges] == case.merges
        assert special_tokens == case.special_tokens
        assert {token_id: vocab[token_id] for token_id in case.tokens} == case.tokens
        assert sorted([*vocab, *special_tokens.values()]) == list(range(case.n_tokens))
        assert all(vocab[merged_id] == vocab[left] + vocab[right] for left, right, merged_id in merges)


@pytest.mark.parametrize("case", cases.cases_of("encoding"), ids=str)
def test_encoding(case: cases.Case) -> None:
    tokenizer = present(case.model)
    allowed: Any = case.allowed_special
    with as_expected(case.error):
        ids = tokenizer.encode(case.text, allowed_special=allowed, disallowed_special=case.disallowed_special)
        assert ids == case.ids
        assert tokenizer.encode_to_numpy(case.text, allowed_special=allowed).tolist() == case.ids
        assert tokenizer.count_tokens(case.text, allowed_special=allowed) == len(case.ids)
        assert tokenizer.decode(case.ids) == (case.text if case.decoded is None else case.decoded)
        if allowed == "all":
            assert list(tokenizer.encode_iterable(case.text[i : i + 1] for i in range(len(case.text)))) == case.ids
            assert tokenizer.encode_batch([case.text] * 2, threads=2) == [case.ids] * 2
    with as_expected(case.error):
        model, special = cases.model(case.model), {"disallowed_special": case.disallowed_special}
        ids = naive.encode(case.text, model, allowed_special=case.allowed_special, **special)
        assert ids == case.ids
        assert naive.decode(ids, model) == (case.text if case.decoded is None else case.decoded)


@pytest.mark.filterwarnings("ignore:.* of the ids move")
@pytest.mark.parametrize("case", cases.cases_of("extending"), ids=str)
def test_extending(case: cases.Case) -> None:
    start = present(case.model)
    extended = start.extend(case.documents, n_tokens=case.n_tokens, keep_ids=case.keep_ids, **case.options)
    assert [tuple(merge) for merge in extended.model.merges.tolist()] == case.merges
    assert extended.special_tokens == case.special_tokens
    assert not case.keep_ids or extended.vocab.items() >= start.vocab.items()
    options = {"keep_ids": case.keep_ids, **case.options}
    model = reference_extend.extend(case.documents, cases.model(case.model), case.n_tokens, **options)
    assert (model.merges, model.special_tokens) == (case.merges, case.special_tokens)


@on_both
@pytest.mark.parametrize("case", cases.cases_of("decoding"), ids=str)
def test_decoding(case: cases.Case, is_reference: bool) -> None:
    with as_expected(case.error):
        skip = {"skip_special_tokens": case.skip_special_tokens}
        if is_reference:
            text = naive.decode(case.ids, cases.model(case.model), case.errors, **skip)
        else:
            text = present(case.model).decode(case.ids, case.errors, **skip)
        assert text == case.text
