"""`pairloom convert`: the same tokenizer in another format, or a refusal with the reason and nothing written."""

import shlex
from pathlib import Path

import pytest

from pairloom import Tokenizer
from pairloom.model import canonical_json
from tests.cli.commands import failed, output, run

TEXT = "the cat sat on the mat, the cat ate the rat; naïve 東京 \r\n 123<|endoftext|>the end"


TOKENIZER = Tokenizer.train([TEXT.replace("<|endoftext|>", " ") * 3], 280)


@pytest.mark.parametrize("format", ["tiktoken", "gpt2"])
def test_convert_warns_about_what_the_format_does_not_store(tmp_path: Path, format: str) -> None:
    model, there, back = (tmp_path / name for name in ("model.json", "there", "back"))
    TOKENIZER.save(model)
    done = run("convert", "--model", model, "--output", there, "--format", format)
    assert done.status == 0, done.err
    unsaid = "the pattern, the special tokens" if format == "tiktoken" else "the special tokens"
    assert f"format {format!r} does not store {unsaid}, decode_errors='strict'" in done.err
    given = (*(("--pattern", "gpt2") if format == "tiktoken" else ()), "--special", "<|endoftext|>=280")
    said = done.err.partition("when it is loaded, pass ")[2].partition(";")[0]
    assert tuple(shlex.split(said.replace(" and ", " "))) == given
    output("convert --format huggingface --model", there, "--output", back, *given)
    assert Tokenizer.load(back).encode(TEXT) == TOKENIZER.encode(TEXT)
    assert Tokenizer.load(back).special_tokens == {"<|endoftext|>": 280}


def test_a_post_processor_is_left_out_on_request(tmp_path: Path) -> None:
    end = ["<|endoftext|>", 280]
    around = canonical_json({"cls": end, "sep": end, "type": "BertProcessing"})
    Tokenizer.from_model(TOKENIZER.model.replaced(post_processor=around)).save(tmp_path / "model.json")
    command = ("convert --format tiktoken --model", tmp_path / "model.json", "--output", tmp_path / "out")
    failed(run(*command), "post-processor", "--drop-post-processor")
    output(*command, "--drop-post-processor")
