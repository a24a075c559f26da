"""Skips are counted by justification, and unjustified ones are found."""

import os
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


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
