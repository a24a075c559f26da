"""pairloom lock and check."""

from pathlib import Path

from pairloom import Tokenizer
from tests.cli.commands import failed, run


def test_check_names_what_changed_and_exits_with_1(tmp_path: Path) -> None:
    model, other, kept = tmp_path / "model", tmp_path / "other", tmp_path / "tokens.lock"
    tokenizer = Tokenizer.train("café in 1234 words, in 1234 words", 270)
    tokenizer.save(model)
    tokenizer.with_normalizer("nfd").save(other)
    written = run("lock", model)
    assert (written.status, written.err) == (0, "") and written.out.startswith("pairloom-lock 1\nn_vocab 271\nEnglish ")
    kept.write_text(written.out)
    assert run("check", model, kept)[:2] == (0, "")
    changed = run("check", other, kept)
    assert changed.status == 1 and "\nnormal forms: 2 of 2 texts, first 'café" in "\n" + changed.out
    failed(run("check", model, model), f"{model}: line 1 is")
    assert run("check", model, tmp_path / "none").status == 1
