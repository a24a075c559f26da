"""Each soak harness with few cases: the rule holds, and the harness itself works."""

from __future__ import annotations

import pytest

from tests.soak.harness import HARNESSES, Table, load


@pytest.mark.parametrize("name", HARNESSES)
def test_soak_harness_with_few_cases_has_no_failure(name: str) -> None:
    harness = load(name)
    table = harness.run(harness.QUICK, seed=1)
    assert not table.failures, "\n".join(table.failures[:5])
    assert table.rows


def test_table_text_aligns_cells_and_groups_digits() -> None:
    table = Table(("format", "cases"))
    table.add("gpt2", 350_000)
    assert table.text() == "| format | cases   |\n|--------|---------|\n| gpt2   | 350,000 |"
