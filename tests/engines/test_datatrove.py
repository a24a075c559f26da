"""datatrove's local executor with two workers: the counts of one process, and the files of its DocumentTokenizer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import CorpusError, CountsError, PretokenCounts, Tokenizer
from pairloom.model import canonical_json
from tests.cases import INPUTS
from tests.engines.corpora import COUNTS, IDS, TEXTS, TOKENIZER, same_counts, write_parts

engine = pytest.importorskip("pairloom.engines.datatrove", exc_type=ImportError, reason="datatrove is not installed")
data = pytest.importorskip("datatrove.data", reason="datatrove is not installed")
executor = pytest.importorskip("datatrove.executor", reason="datatrove is not installed")
readers = pytest.importorskip("datatrove.pipeline.readers", reason="datatrove is not installed")
tokens = pytest.importorskip("datatrove.pipeline.tokens", reason="datatrove is not installed")


def save_with(path: Path, *around: str) -> None:
    """Writes a tokenizer.json whose post-processor puts the first token before a text and the others after it."""
    special = [{"SpecialToken": {"id": token, "type_id": 0}} for token in around]
    template = [*special[:1], {"Sequence": {"id": "A", "type_id": 0}}, *special[1:]]
    ids = {token: {"id": token, "ids": [TOKENIZER.special_tokens[token]], "tokens": [token]} for token in around}
    node = {"type": "TemplateProcessing", "single": template, "special_tokens": ids}
    node["pair"] = [*template, {"Sequence": {"id": "B", "type_id": 1}}]
    model = TOKENIZER.model.replaced(post_processor=canonical_json(node) if around else None)
    Tokenizer.from_model(model).save(path, format="huggingface")


def _run(folder: Path, steps: list[Any], tasks: int) -> None:
    logs = str(folder / "logs" / str(len(steps)))
    executor.LocalPipelineExecutor(pipeline=steps, tasks=tasks, workers=min(tasks, 2), logging_dir=logs).run()


@pytest.mark.parametrize("tasks", [1, 2, 7])
def test_counts_and_merges_are_those_of_one_process(tmp_path: Path, tasks: int) -> None:
    write_parts(tmp_path / "parts", 7)
    counter = engine.PretokenCounter(str(tmp_path / "counts"), "cl100k")
    _run(tmp_path, [readers.JsonlReader(str(tmp_path / "parts")), counter], tasks)
    assert len(list((tmp_path / "counts").glob("*.parquet"))) == tasks
    _run(tmp_path, [engine.CountsMerger(str(tmp_path / "counts"), str(tmp_path / "merged"))], 1)
    counts = PretokenCounts.load(tmp_path / "merged" / "counts.parquet")
    assert same_counts(counts)
    # datatrove's readers drop empty documents.
    assert counts.n_bytes == COUNTS.n_bytes


@pytest.mark.parametrize("tasks", [1, 2, 9])
def test_counts_of_files_are_those_of_one_process(tmp_path: Path, tasks: int) -> None:
    write_parts(tmp_path / "parts" / "deeper", 7)
    (tmp_path / "parts" / "deeper" / "0.jsonl").rename(tmp_path / "parts" / "0.jsonl")
    counter = engine.PretokenCounter(str(tmp_path / "counts"), "cl100k", input_folder=str(tmp_path / "parts"))
    _run(tmp_path, [counter], tasks)
    assert len(list((tmp_path / "counts").glob("*.parquet"))) == tasks
    _run(tmp_path / "merge", [engine.CountsMerger(str(tmp_path / "counts"), str(tmp_path / "merged"))], 1)
    counts = PretokenCounts.load(tmp_path / "merged" / "counts.parquet")
    assert same_counts(counts) and counts.n_documents == COUNTS.n_documents
    # Reading options; a bad record is an error that names its line.
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.jsonl").write_text('{"body": "ab"}\n{"body": 3}\n')
    bad = str(tmp_path / "bad")
    with pytest.raises(CorpusError, match=r"a\.jsonl: line 2"):
        list(engine.PretokenCounter(bad, input_folder=bad, reading={"text_field": "body"}).run())
    with pytest.raises(ValueError, match="reading applies only to files"):
        engine.PretokenCounter(bad, reading={"text_field": "body"})
    with pytest.raises(ValueError, match="the counter must be the first step"):
        list(engine.PretokenCounter(bad, input_folder=bad).run(["a document"]))


def test_hidden_files_are_not_counted(tmp_path: Path) -> None:
    folder, out = tmp_path / "é parts", str(tmp_path / "out")
    write_parts(folder, 2)
    for name in (".checkpoints", "_temporary"):
        (folder / name).mkdir()
    for name in (".0.jsonl.crc", ".checkpoints/a.txt", "_temporary/a.txt"):
        (folder / name).write_text("hidden text")
    for rank in range(2):
        list(engine.PretokenCounter(out, "cl100k", input_folder=str(folder)).run(rank=rank, world_size=2))
    assert same_counts(PretokenCounts.merged(PretokenCounts.load(f"{out}/0000{rank}.parquet") for rank in range(2)))
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / ".a.txt").write_text("hidden text")
    with pytest.raises(FileNotFoundError, match="no files in this folder"):
        list(engine.PretokenCounter(out, input_folder=str(tmp_path / "only")).run())


@pytest.mark.parametrize("options", INPUTS["datatrove"], ids=str)
def test_files_are_those_of_its_own_tokenizer_byte_for_byte(tmp_path: Path, options: dict[str, Any]) -> None:
    write_parts(tmp_path / "parts", 3)
    options = dict(options)
    save_with(tmp_path / "tokenizer.json", *options.pop("puts", ()))
    written = {}
    for name, step in (("theirs", tokens.DocumentTokenizer), ("ours", engine.PairloomTokenizer)):
        folder = tmp_path / name
        more = {"specials": "recognise"} if name == "ours" else {}
        tokenizer = step(str(folder), str(tmp_path / "tokenizer.json"), batch_size=50, **options, **more)
        reader = readers.JsonlReader(str(tmp_path / "parts"))
        _run(tmp_path / f"log{name}", [reader, tokenizer], 2)
        written[name] = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert written["ours"] == written["theirs"]
    assert any(written["ours"].values())


def test_literals_are_plain_text_unless_they_are_recognised(tmp_path: Path) -> None:
    write_parts(tmp_path / "parts", 1)
    TOKENIZER.save(tmp_path / "model.json")
    step = engine.PairloomTokenizer(str(tmp_path / "out"), str(tmp_path / "model.json"), shuffle_documents=False)
    _run(tmp_path, [readers.JsonlReader(str(tmp_path / "parts")), step], 1)
    (path,) = (tmp_path / "out").glob("*.ds")
    ids = np.fromfile(path, "<u2")
    assert ids.tolist() == [i for row in IDS for i in row]
    ends = np.fromfile(path.with_suffix(".ds.index"), "<u8")
    assert len(ends) == sum(map(bool, TEXTS))
    with pytest.raises(ValueError, match="specials must be"):
        engine.PairloomTokenizer(str(tmp_path), "x", specials="maybe")
    with pytest.raises(ValueError, match="use datatrove's DocumentTokenizer"):
        engine.PairloomTokenizer(str(tmp_path), "x", shuffle_documents=False, save_loss_metadata=True)


def test_empty_folders_and_documents_without_text_are_errors(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "model.json")
    out, missing = str(tmp_path / "out"), str(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"no files in this folder: .*missing"):
        list(engine.PretokenCounter(out, input_folder=missing).run())
    with pytest.raises(CountsError, match=r"missing: no \*\.parquet in this folder"):
        list(engine.CountsMerger(missing, out).run())
    documents = [data.Document(text="ab", id="first"), data.Document(text=None, id="second")]
    for step in (engine.PretokenCounter(out), engine.PairloomTokenizer(out, str(tmp_path / "model.json"))):
        with pytest.raises(TypeError, match="must be a str, not NoneType"):
            list(step.run(documents) or ())
    # Having no documents at all is not an error.
    list(engine.PretokenCounter(out).run([]))
    assert len(PretokenCounts.load(tmp_path / "out" / "00000.parquet")) == 0


def test_a_step_that_is_misused_says_so(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "model.json")
    save_with(tmp_path / "tokenizer.json", "<|endoftext|>", "<|endoftext|>", "<|endoftext|>")
    with pytest.raises(ValueError, match=r"adds \[\d+\] and \[\d+, \d+\] around a text; pass eos_token"):
        _ = engine.PairloomTokenizer(str(tmp_path / "out"), str(tmp_path / "tokenizer.json")).token_size
    step = engine.PairloomTokenizer(str(tmp_path / "out"), str(tmp_path / "model.json"), eos_token="<eos>")
    with pytest.raises(ValueError, match="eos_token must be a special token of the tokenizer; not '<eos>'"):
        _ = step.token_size
    with pytest.raises(ValueError, match="CountsMerger runs as one task, not 2"):
        list(engine.CountsMerger(str(tmp_path), str(tmp_path)).run(None, 0, 2))
    with pytest.raises(ValueError, match="corpus_specials"):
        engine.PretokenCounter(str(tmp_path), corpus_specials="maybe")
