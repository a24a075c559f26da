"""Each soak harness with few cases: the rule holds, and the harness itself works."""

import time
from pathlib import Path

import pytest

from tests.soak import isolation, misuse, mutations
from tests.soak.harness import HARNESSES, Table, load


@pytest.mark.parametrize("name", HARNESSES)
def test_soak_harness_with_few_cases_has_no_failure(name: str) -> None:
    harness = load(name)
    table = harness.run(harness.QUICK, seed=1)
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
    (failure,) = mutations.run(3, seed=0).failures
    assert "case 2" in failure


def test_table_text_aligns_cells_and_groups_digits() -> None:
    table = Table(("format", "cases"))
    table.add("gpt2", 350_000)
    assert table.text() == "| format | cases   |\n|--------|---------|\n| gpt2   | 350,000 |"


def test_misuse_finds_an_error_that_is_not_documented() -> None:
    def broken(number: int) -> None:
        raise IndexError(number)

    outcome, detail = misuse.outcome_of(misuse.Call(broken, {"number": lambda: 1}), "number", lambda: 2)
    assert outcome == "failed" and detail.endswith("IndexError: 2\n")
