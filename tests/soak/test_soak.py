"""Each soak harness with few cases: the rule holds, and the harness itself works."""

import pytest

from tests.soak import misuse
from tests.soak.harness import HARNESSES, Table, load


@pytest.mark.parametrize("name", HARNESSES)
def test_soak_harness_with_few_cases_has_no_failure(name: str) -> None:
    harness = load(name)
    table = Table(harness.run(harness.QUICK, seed=1))
    assert not table.failures, "\n".join(table.failures[:5])
    assert table.rows


def test_misuse_finds_an_error_that_is_not_documented() -> None:
    def broken(number: int) -> None:
        raise IndexError(number)

    outcome, detail = misuse.outcome_of(misuse.Call(broken, {"number": 1}), "number", lambda: 2)
    assert outcome == "failed" and detail.endswith("IndexError: 2\n")
