"""Which ids special tokens get."""

from typing import Any

import pytest

from pairloom.model import LARGEST_ID, assign_special_ids

TOKENS = {0: b"a", 1: b"b", 7: b"<s>"}


def test_a_list_takes_ids_of_equal_bytes_then_free_ones() -> None:
    assert assign_special_ids(TOKENS, ["<x>", "<s>", "<é>"]) == {"<x>": 8, "<s>": 7, "<é>": 9}
    assert assign_special_ids({}, ["<x>"]) == {"<x>": 0}
    assert assign_special_ids({5: b"<s>", 3: b"<s>"}, ["<s>"]) == {"<s>": 3}


def test_a_dict_names_its_ids() -> None:
    assert assign_special_ids(TOKENS, {"<x>": 3, "<s>": 900}) == {"<x>": 3, "<s>": 900}


@pytest.mark.parametrize(
    ("specials", "error"),
    [
        ("<s>", TypeError),
        (b"<s>", TypeError),
        (3, TypeError),
        ([""], ValueError),
        (["a", "a"], ValueError),
        (["\ud800"], ValueError),
        ({"a": True}, TypeError),
        ({"a": "1"}, TypeError),
        ({"a": -1}, ValueError),
        ({"a": LARGEST_ID + 1}, ValueError),
        ({"a": 4, "b": 4}, ValueError),
    ],
)
def test_what_makes_no_sense_is_refused(specials: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        assign_special_ids(TOKENS, specials)
