"""Importing pairloom, or a short command, loads neither NumPy nor anything else that it does not use."""

import subprocess
import sys
from pathlib import Path

import pytest

# Importing any one of these takes about as long as everything that encoding a text needs.
HEAVY = {"numpy", "asyncio", "dataclasses", "tqdm", "multiprocessing", "ssl", "secrets", "zipfile"}
HEAVY |= {"pairloom.corpus.corpus", "pairloom.training.config", "pairloom.training.train"}


def loaded(code: str) -> set[str]:
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_tokenizer_loads_nothing_heavy() -> None:
    found = loaded("from pairloom import Tokenizer")
    assert "pairloom.tokenizer" in found
    assert not found & HEAVY


def test_encoding_by_a_native_file_loads_nothing_heavy(model: Path) -> None:
    code = (
        f"from pairloom import Tokenizer; t = Tokenizer.load({str(model)!r}); assert t.decode(t.encode('ab')) == 'ab'"
    )
    assert "numpy" not in loaded(code + "; assert list(t.encode_iterable(['ab', ' ab'])) == t.encode('ab ab')")
    assert not loaded(code) & HEAVY
    # Arrays of ids load NumPy.
    assert "numpy" in loaded(code + "; t.encode_to_numpy('ab')")


def test_encode_loads_nothing_heavy_and_no_other_command(model: Path) -> None:
    code = f"from pairloom.cli import main; main(['encode', '--model', {str(model)!r}, '--text', 'ab ab'])"
    found = loaded(code)
    assert "pairloom.cli.encode" in found
    assert not found & (HEAVY | {"pairloom.cli.train", "pairloom.cli.tokenize"})


@pytest.mark.parametrize(
    "call", ["tokenizer.encode_to_numpy('ab')", "tokenizer.model.merges", "tokenizer.decode(iter([97]))"]
)
def test_an_interruption_while_numpy_is_loaded_is_raised(call: str, model: Path) -> None:
    code = f"""
import sys
from pairloom import Tokenizer
tokenizer = Tokenizer.load({str(model)!r})
assert "numpy" not in sys.modules
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
try:
    {call}
except KeyboardInterrupt:
    print("raised")
sys.meta_path.pop(0)
{call}
print("works")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("raised\nworks\n", "")
