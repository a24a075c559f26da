"""Each soak harness with few cases: the rule holds, and the harness itself works."""

import time
from pathlib import Path

import pytest

from tests.soak import isolation, misuse, mutations
from tests.soak.harness import HARNESSES, Result, Table, load


@pytest.mark.parametrize("name", HARNESSES)
def test_soak_harness_with_few_cases_has_no_failure(name: str) -> None:
    harness = load(name)
    table = Table(harness.run(harness.QUICK, seed=1))
    assert not table.failures, "\n".join(table.failures[:5])
    assert table.rows


def test_only_a_mutation_that_is_slow_twice_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def slow(_: int, number: int, __: Path) -> tuple[str, int]:
        seen = tmp_path / str(number)
        started = time.process_time()
        while time.process_time() - started < 0.2 and (number == 2 or (number == 1 and not seen.exists())):
            pass
        seen.touch()
        return "loaded", 10

    monkeypatch.setattr(mutations, "_run_case", slow)
    monkeypatch.setattr(isolation, "MAX_SECONDS", 0.15)
    (failure,) = Table(mutations.run(3, seed=0)).failures
    assert "case 2" in failure


def test_table_adds_up_rows_and_lists_failures() -> None:
    table = Table([Result("a", {"cases": 350_000}, largest={"s": 0.25}), Result("b", {"cases": 1}, "case 7: wrong")])
    assert table.failures == ["b: case 7: wrong"]
    assert table.text().splitlines() == [
        "|     | cases   | failed | s    |",
        "| --- | ------- | ------ | ---- |",
        "| a   | 350,000 | 0      | 0.25 |",
        "| b   | 1       | 1      |      |",
        "| all | 350,001 | 1      | 0.25 |",
    ]


def test_misuse_finds_an_error_that_is_not_documented() -> None:
    def broken(number: int) -> None:
        raise IndexError(number)

    outcome, detail = misuse.outcome_of(misuse.Call(broken, {"number": lambda: 1}), "number", lambda: 2)
    assert outcome == "failed" and detail.endswith("IndexError: 2\n")
