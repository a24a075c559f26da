"""Statistics of a folder of shards equal those of its documents, as an object, a table, JSON and a plot."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairloom
from pairloom import Tokenizer, pack_shards, shard_stats, tokenize_files
from pairloom.analysis.shards import shard_stats_text
from pairloom.shards.files import FORMATS
from tests.cli.commands import failed, output, run
from tests.corpus.files import json_lines
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)


def _folder(folder: Path, seed: int, **options: Any) -> Path:
    rng = random.Random(seed)
    for name in ("a", "b"):
        texts = ["".join(rng.choices(["ab", " the", "é"], k=rng.choice([0, 1, 5, 300]))) for _ in range(30)]
        (folder / f"{name}.jsonl").write_text(json_lines(texts), encoding="utf-8")
    inputs = [folder / "a.jsonl", folder / "b.jsonl"]
    tokenize_files(TOKENIZER, inputs, folder / "out", **{"shard_tokens": 500, **options})
    return folder / "out"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_figures_are_those_of_the_documents(tmp_path: Path, format: str, seed: int) -> None:
    folder = _folder(tmp_path, seed, format=format)
    documents = documents_of(folder)
    lengths = sorted(map(len, documents))
    stats = shard_stats(folder)
    assert (stats.n_documents, stats.n_tokens) == (60, sum(lengths))
    texts = [json.loads(line)["text"] for name in "ab" for line in (tmp_path / f"{name}.jsonl").open(encoding="utf-8")]
    assert stats.n_bytes == sum(len(text.encode()) for text in texts)
    assert stats.bytes_per_token == stats.n_bytes / stats.n_tokens
    assert stats.inputs == [
        (str(tmp_path / "a.jsonl"), 30, sum(map(len, documents[:30]))),
        (str(tmp_path / "b.jsonl"), 30, sum(map(len, documents[30:]))),
    ]
    assert stats.lengths[0].least == lengths[0] == 0 and stats.lengths[-1].most >= lengths[-1]
    for least, most, n_documents, n_tokens in stats.lengths:
        within = [length for length in lengths if least <= length <= most]
        assert (n_documents, n_tokens) == (len(within), sum(within))
        assert (least, most) in {(0, 0), (least, 2 * least - 1)}
    assert stats.percentiles == {
        percent: int(np.quantile(lengths, percent / 100, method="inverted_cdf")) for percent in (50, 90, 99, 100)
    }
    assert shard_stats(pairloom.open_shards(folder)) == stats
    assert json.loads(output("shards --json", folder)) == json.loads(json.dumps(stats.as_dict()))
    assert output("shards", folder) == shard_stats_text(stats)
    assert f"tokens               {sum(lengths):,}\n" in shard_stats_text(stats)


def test_empty_unfinished_and_packed_folders_have_figures(tmp_path: Path) -> None:
    folder = _folder(tmp_path, 1)
    pack_shards(folder, tmp_path / "rows", seq_len=64)
    rows = shard_stats(tmp_path / "rows")
    assert rows.percentiles[50] == 64 and rows.inputs == shard_stats(folder).inputs
    assert shard_stats_text(rows).startswith("rows  ") and "tokens per row  " in shard_stats_text(rows)
    manifest = json.loads((folder / "manifest.json").read_text())
    unfinished = {**manifest, "complete": False, "next": manifest["shards"][-1]["next"]}
    (folder / "manifest.json").write_text(json.dumps(unfinished))
    assert "has not finished" in shard_stats_text(shard_stats(folder))
    (tmp_path / "nothing.jsonl").write_text("")
    tokenize_files(TOKENIZER, tmp_path / "nothing.jsonl", tmp_path / "empty")
    empty = shard_stats(tmp_path / "empty")
    assert (empty.bytes_per_token, empty.lengths, empty.percentiles) == (None, [], {})
    assert "documents            0\n" in shard_stats_text(empty)
    assert json.loads(output("shards --json", tmp_path / "empty"))["bytes_per_token"] is None


def test_the_picture_is_drawn_and_not_replaced_unless_asked(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    folder, picture = _folder(tmp_path, 1), tmp_path / "shards.svg"
    output("shards", folder, "--plot", picture)
    assert b"<svg" in picture.read_bytes()
    failed(run("shards", folder, "--plot", picture), "shards.svg")
    output("shards --force", folder, "--plot", picture)
    failed(run("shards", folder, "--plot", tmp_path / "shards.gif"), ".svg, .png, .pdf")


def test_the_shares_of_inputs_are_of_what_all_inputs_gave(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="the extra [plot] is not installed")
    from pairloom.analysis.plots import _draw_inputs

    pack_shards(_folder(tmp_path, 1), tmp_path / "rows", seq_len=64, rank=1, world_size=3)
    axes = figure.Figure().add_subplot()
    _draw_inputs(axes, shard_stats(tmp_path / "rows"))
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(100)


@pytest.mark.parametrize("what", ["none", "a.jsonl", "out/manifest.json"])
def test_what_is_no_folder_of_shards_is_refused(tmp_path: Path, what: str) -> None:
    _folder(tmp_path, 1)
    failed(run("shards", tmp_path / what), "is not a folder of shards")


def test_names_of_inputs_cannot_steer_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.txt").write_text("ab ab")
    tokenize_files(TOKENIZER, tmp_path / "a\x1b[31m.txt", tmp_path / "out")
    assert "\x1b" not in output("shards", tmp_path / "out")
