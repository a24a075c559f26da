"""Skips are counted by their justification, and others are found."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests import skips

pytest_plugins = ["pytester"]


def test_skips_of_one_justification_are_one_row() -> None:
    reasons = Counter({"litellm is not installed: make parity": 4, "dashscope is not installed: make parity": 3})
    lines = skips.table(reasons)
    assert len(lines) == 2
    assert lines[1].split()[0] == "7"
    assert lines[1].endswith("make parity")
    assert not skips.unjustified(reasons)


def test_a_reason_that_is_not_listed_is_named() -> None:
    reasons = Counter({"could not import 'zstandard'": 2, "takes minutes; `make test-slow` runs it": 1})
    assert skips.unjustified(reasons) == ["could not import 'zstandard'"]
    assert any("NOT JUSTIFIED: could not import" in line for line in skips.table(reasons))


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict-skips",), 1)])
def test_a_run_fails_for_a_skip_without_justification(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], status: int
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    pytester.makeconftest(conftest)
    pytester.makepyfile('import pytest\n\ndef test_it():\n    pytest.skip("no reason at all")\n')
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)
    assert done.ret == status
    done.stdout.fnmatch_lines(["*NOT JUSTIFIED: no reason at all*"])
