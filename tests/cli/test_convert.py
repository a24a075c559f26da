"""`pairloom convert`: the same tokenizer in another format, or a refusal with the reason and nothing written."""

import shlex
from pathlib import Path

import pytest

from pairloom import Tokenizer
from pairloom.model import canonical_json
from tests.cli.commands import failed, output, run

TEXT = "the cat sat on the mat, the cat ate the rat; naïve 東京 \r\n 123<|endoftext|>the end"


TOKENIZER = Tokenizer.train([TEXT.replace("<|endoftext|>", " ") * 3], 280)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    TOKENIZER.save(tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.mark.parametrize("format", ["pairloom", "huggingface"])
def test_there_and_back_is_the_same(model: Path, tmp_path: Path, format: str) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    done = run("convert", "--model", model, "--output", there, "--format", format)
    assert (done.status, done.out) == (0, ""), done.err
    assert f"{there}: {format}, 281 tokens\n" in done.err
    # The tokenizer is strict, which a tokenizer.json cannot store.
    assert done.err.count("\n") == (2 if format == "huggingface" else 1)
    output("convert", "--model", there, "--output", back, "--format", format)
    assert there.read_bytes() == back.read_bytes()
    assert Tokenizer.load(there).encode(TEXT) == TOKENIZER.encode(TEXT)


@pytest.mark.parametrize("format", ["tiktoken", "gpt2"])
def test_convert_warns_about_what_the_format_does_not_store(model: Path, tmp_path: Path, format: str) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
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


def test_what_a_format_cannot_express_is_refused_with_the_reason(tmp_path: Path) -> None:
    vocab = {0: b"a", 1: b"b", 2: b"c", 3: b"bc", 4: b"ab"}
    odd = Tokenizer(vocab, [(b"a", b"b"), (b"b", b"c")], missing_bytes="raise")
    odd.save(tmp_path / "odd.json")
    command = ("convert --format tiktoken --model", tmp_path / "odd.json", "--output", tmp_path / "odd.tiktoken")
    failed(run(*command), "ranks cannot express")
    assert not (tmp_path / "odd.tiktoken").exists()


def test_an_output_that_is_there_is_replaced_by_force_alone(model: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    command = ("convert --format huggingface --model", model, "--output", tmp_path / "taken")
    failed(run(*command), "taken")
    assert (tmp_path / "taken").read_text() == "mine"
    output(*command, "--force")
    assert Tokenizer.load(tmp_path / "taken").n_vocab == 281


def test_a_post_processor_is_left_out_on_request(tmp_path: Path) -> None:
    end = ["<|endoftext|>", 280]
    around = canonical_json({"cls": end, "sep": end, "type": "BertProcessing"})
    Tokenizer.from_model(TOKENIZER.model.replaced(post_processor=around)).save(tmp_path / "model.json")
    command = ("convert --format tiktoken --model", tmp_path / "model.json", "--output", tmp_path / "out")
    failed(run(*command), "post-processor", "--drop-post-processor")
    output(*command, "--drop-post-processor")
