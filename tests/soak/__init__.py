"""Long randomised runs ("soak tests"): `python -m tests.soak NAME [--count N] [--seed S]`, or `make soak ARGS="NAME"`.

Each harness is a module listed in `tests.soak.harness.HARNESSES`. `tests/soak/test_soak.py` runs each with a small
count in the normal test run; docs/reliability.md holds the figures of full runs.
"""
