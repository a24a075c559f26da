"""--pattern and --special: every command reads files that contain neither."""

import json
from pathlib import Path

import pytest

from pairloom import Tokenizer
from pairloom.cli.commands import COMMANDS
from tests.cli.commands import failed, output, run
from tests.cli.test_help import parser_of

TEXT = "the cat's hat 12345 <e> the  end"


TOKENIZER = Tokenizer.train([TEXT.replace("<e>", "")], 290, pattern="cl100k", special_tokens=["<e>"])


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """Saves the model; returns its file and the options that the file lacks."""
    TOKENIZER.save(tmp_path / "model", format="tiktoken")
    special = f"<e>={TOKENIZER.special_tokens['<e>']}"
    return ["--model", str(tmp_path / "model"), "--pattern", "cl100k", "--special", special]


def test_compare(given: list[str], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    TOKENIZER.save(tmp_path / "native.json")
    native = ["--model", str(tmp_path / "native.json")]
    corpus = ["--input", str(tmp_path / "text.txt"), "--json"]
    assert json.loads(output("compare", *native, *given, *corpus))["ids"] is None
    assert json.loads(output("compare", *given, *native, *corpus))["ids"] is None
    for option in (["--pattern", "gpt2"], ["--special", "<e>"]):
        for texts in (corpus, ["--corpus", f"a={tmp_path / 'text.txt'}"]):
            done = run("compare", *native, *native, *option, *texts)
            assert done.status == 2 and f"{option[0]} would have no effect: the models contain" in done.err


def test_view_of_a_file_with_and_one_without_special_tokens(given: list[str], tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "native.json")
    page = output("view", *given, "--model", str(tmp_path / "native.json"), "--text", TEXT)
    assert page.count(f'"special":[{TOKENIZER.special_tokens["<e>"]}]') == 2


def test_special_tokens_with_and_without_ids(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "model.tiktoken", format="tiktoken")
    common = ("inspect", "--model", tmp_path / "model.tiktoken", "--pattern", "cl100k", "--json")

    def specials(*literals: str) -> dict[str, int]:
        shown = output(*common, *(word for literal in literals for word in ("--special", literal)))
        found: dict[str, int] = json.loads(shown)["special_tokens"]
        return found

    free = max(TOKENIZER.special_tokens.values())
    assert specials("<e>", "a=b") == {"<e>": free, "a=b": free + 1}
    assert specials("<e>=400", "x=1=401", "<f>") == {"<e>": 400, "x=1": 401, "<f>": 402}
    assert specials("=400=400") == {"=400": 400}
    for wrong, message in (
        (["<e>", "<e>=400"], "'<e>' twice"),
        (["=400"], "empty"),
        (["<e>=400", "<f>=400"], "both have id 400"),
        (["<e>=99999999999999999999999999"], "the largest is"),
    ):
        failed(run(*common, *(word for literal in wrong for word in ("--special", literal))), message)


def test_every_command_with_a_model_has_them() -> None:
    with_models = 0
    for command in COMMANDS:
        options = {option for action in parser_of(command)._actions for option in action.option_strings}
        with_models += "--model" in options
        assert "--model" not in options or {"--pattern", "--special"} <= options, command
    assert with_models > 9
