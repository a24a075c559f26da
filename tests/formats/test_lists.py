"""Native files are written without NumPy, and their long values are those of the specification."""

import json
import subprocess
import sys
from pathlib import Path

from pairloom import Tokenizer


def test_saving_needs_no_numpy(tmp_path: Path) -> None:
    Tokenizer({value: bytes([value]) for value in range(256)}, [], ["<s>"]).save(tmp_path / "model")
    code = (
        "import sys; from pairloom import Tokenizer; Tokenizer.load(sys.argv[1]).save(sys.argv[2]); "
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "model", tmp_path / "again"], check=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_tokens_that_merges_do_not_make_are_listed(tmp_path: Path) -> None:
    vocab = {**{value: bytes([value]) for value in range(256)}, 300: b"ab", 302: b"abab", 303: b"xyz"}
    merges = [(b"a", b"b"), (b"ab", b"ab")]
    Tokenizer(vocab, merges).save(tmp_path / "model")
    file = json.loads((tmp_path / "model").read_bytes())
    assert file["merges"] == [97, 98, 300, 300]
    assert file["made_ids"] == [300, 1, 302, 1]
    assert file["token_ids"] == [0, 256, 303, 1]
    assert file["token_lengths"] == [1] * 256 + [3]
