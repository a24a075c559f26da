"""Tokens added around a text: the cases, on the reference and the product, and Tokenizer.encode."""

import pytest

from pairloom import Tokenizer
from pairloom.model import canonical_json
from pairloom.post_processing import post_processor_of
from pairloom.reference import post_processor as reference
from tests.cases import Case, cases_of
from tests.formats.models import ENDOFTEXT, trained

BERT = {"type": "BertProcessing", "cls": ["<s>", 258], "sep": [ENDOFTEXT, 257]}


@pytest.mark.parametrize("case", cases_of("post_processing"), ids=str)
def test_cases_on_reference_and_product(case: Case) -> None:
    node, ids, pair = case.post_processor, case.ids, case.pair_ids
    assert reference.surrounded(node, ids) == case.single
    assert reference.surrounded(node, ids, pair) == case.pair
    ours = post_processor_of(None if node is None else canonical_json(node))
    assert ours.surrounded(ids) == case.single and ours.surrounded(ids, pair) == case.pair
    assert ours.surrounded(ids, pair, adds=False) == [each for each in case.pair if each in (*ids, *pair)]
    assert ours.n_added(False) == len(case.single) - len(ids)
    assert ours.n_added(True) == len(case.pair) - len(ids) - len(pair)


def test_encode_adds_what_stands_around_only_when_asked() -> None:
    model = trained([(97, 98)], special_tokens={ENDOFTEXT: 257, "<s>": 258}, post_processor=canonical_json(BERT))
    tokenizer = Tokenizer.from_model(model)
    assert (tokenizer.encode("ab"), tokenizer.encode("ab", "c")) == ([256], [256, 99])
    assert tokenizer.encode("ab", "c", add_special_tokens=True) == [258, 256, 257, 99, 257]
    assert tokenizer.encode("<s>", add_special_tokens=True, allowed_special=()) == [258, 60, 115, 62, 257]
    assert tokenizer.add_special_tokens(["<x>"]).encode("ab<x>", add_special_tokens=True) == [258, 256, 259, 257]
    empty = canonical_json({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": []})
    emptying = Tokenizer.from_model(model.replaced(post_processor=empty))
    assert emptying.encode("ab", add_special_tokens=True) == []
    turned = canonical_json(cases_of("post_processing")[-1].post_processor)
    turning = Tokenizer.from_model(model.replaced(post_processor=turned))
    assert turning.encode("ab", "c") == [99, 256] and turning.encode("ab", "c", add_special_tokens=True)[-1] == 256
    assert tokenizer.without_post_processor().encode("ab", "c", add_special_tokens=True) == [256, 99]
    with pytest.raises(TypeError, match="add_special_tokens must be True or False"):
        tokenizer.encode("a", add_special_tokens=1)  # type: ignore[call-overload]
