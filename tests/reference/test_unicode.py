"""`regex` agrees with Unicode 16.0 on every code point except those that later versions added or changed."""

import pytest

from tests.unicode16 import GPT2_CLASSES, O200K_CLASSES, unicode16_category, unicode16_differences


@pytest.mark.parametrize("classes", [GPT2_CLASSES, O200K_CLASSES], ids=["gpt2", "o200k"])
def test_only_later_characters_differ(classes: tuple[str, ...]) -> None:
    category = unicode16_category()
    differences = unicode16_differences(classes)
    moved = {point for point in differences if category(chr(point)) != "Cn"}
    print(f"{len(differences)} code points differ, {len(moved)} of them assigned in Unicode 16.0")
    assert min(differences, default=0x100) >= 0x80
    assert len(moved) < 100


def test_the_classes_of_o200k_differ_wherever_those_of_gpt2_do() -> None:
    assert unicode16_differences(GPT2_CLASSES) <= unicode16_differences(O200K_CLASSES)
