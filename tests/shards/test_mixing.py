"""Mixtures of folders: the documented rule, shares, every row once, any step, rank and state."""

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairloom import Tokenizer, open_shards, pack_shards, tokenize_files
from pairloom.shards import mixing
from tests.cases import REFUSED
from tests.shards.making import page_code, random_lines

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
NAMES = ("web", "code", "books", "math")
PAD = -1


@lru_cache
def _mixed() -> Any:
    """The definition of docs/shards.md."""
    scope: dict[str, Any] = {}
    exec(page_code("def mixed"), scope)
    return scope["mixed"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of different sizes and formats: ids of uint16 and uint32."""
    found = {}
    for name, n, format in zip(NAMES, (40, 15, 6, 3), ("npy", "parquet", "bin", "megatron"), strict=True):
        # Two Parquet shards are kept open.
        folder, n_tokens = tmp_path_factory.mktemp(name), 10**6 if format == "parquet" else 200
        source = random_lines(folder, n, n)
        tokenize_files(TOKENIZER, source, folder / "out", shard_tokens=n_tokens, format=format)
        found[name] = folder / "out"
    return found


@contextmanager
def _period_of(rows: int) -> Iterator[None]:
    """Shortens the period of mixing, so that small folders reach its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixing, "_ROWS_PER_PERIOD", rows)
        mixing._period.cache_clear()
        yield
    mixing._period.cache_clear()


def _case(rng: random.Random, folders: dict[str, Path]) -> tuple[Any, list[tuple[int, list[float]]], dict[str, Any]]:
    """Returns (a mixture, its weights from each step on, options for batches with one row per step)."""
    names = rng.sample(NAMES, rng.randrange(1, 5))
    steps = [0, *sorted(rng.sample(range(1, 60), rng.choice([0, 0, 1, 2])))]
    sets = ([float(rng.choice([0, 1, 2, 3, 5])) for _ in names] for _ in itertools.count())
    weights = [(step, next(each for each in sets if sum(each))) for step in steps]
    given = [(step, dict(zip(names, each, strict=True))) for step, each in weights]
    mix = open_shards({name: folders[name] for name in names}, weights=given if len(given) > 1 else given[0][1])
    options = {
        "seq_len": rng.choice([16, 33, 64]),
        "seed": rng.choice([None, 1, 2**64 - 1]),
        "shuffle": rng.choice(["block", "document"]),
        "mode": rng.choice(["packed", "padded"]),
        "epoch": rng.choice([0, 2]),
        "pad_id": PAD,
        "dtype": np.int64,
    }
    return mix, weights, options


def _defined(mix: Any, weights: Any, options: dict[str, Any], epochs: dict[str, Any], period: int, n: int) -> Any:
    """Returns (at most `n` rows, the folders that are exhausted at the end) by the page's definition, row by row."""
    names = list(mix.sources)
    rows = {name: mix.sources[name].batches(**options, batch=1, epochs=epochs[name]) for name in names}
    taken: dict[str, int] = dict.fromkeys(names, 0)
    found: list[Any] = []
    for (first, each), last in zip(weights, [*(step for step, _ in weights[1:]), n], strict=True):
        for number in _mixed()(each, max(last - first, 0), period):
            row = next(rows[names[number]], None)
            if row is None:
                left = [name for name in names if rows[name].n_steps == taken[name]]
                return found, left
            taken[names[number]] += 1
            found.append(row[0].tolist())
    return found, None


@pytest.mark.parametrize(("period", "seed"), [*((10, seed) for seed in range(20)), *((1 << 16, n) for n in range(3))])
def test_rows_of_all_ranks_are_those_of_the_definition(folders: dict[str, Path], period: int, seed: int) -> None:
    rng = random.Random(seed)
    with _period_of(period):
        mix, weights, options = _case(rng, folders)
        epochs = rng.choice([None, 1, {name: rng.choice([1, 2, None]) for name in mix.sources}, {}])
        each = {name: epochs.get(name, 1) if isinstance(epochs, dict) else epochs for name in mix.sources}
        batch, world_size = rng.choice([1, 2, 5]), rng.choice([1, 2, 3])
        in_rows = [(step * batch * world_size, parts) for step, parts in weights]
        expected, left = _defined(mix, in_rows, options, each, period, 300 if None in each.values() else 5000)
        ranks = [
            mix.batches(**options, batch=batch, rank=rank, world_size=world_size, epochs=epochs)
            for rank in range(world_size)
        ]
        steps = [np.concatenate(step) for step in itertools.islice(zip(*ranks, strict=True), 5000 if left else 300)]
        rows = np.concatenate([np.zeros((0, options["seq_len"]), np.int64), *steps])
        assert rows[: len(expected)].tolist() == expected
        if left is not None:
            # Only the last step has padding.
            assert ranks[0].exhausted == left
            assert len(rows) - len(expected) < batch * world_size and (rows[len(expected) :] == PAD).all()
        step, row = rng.randrange(20), rng.randrange(20)
        if len(weights) == 1:
            alone = mix.batches(**options, batch=batch, step=step, row=row, epochs=epochs)
            begin = row + step * batch
            assert alone.at(step)[: max(len(rows) - begin, 0)].tolist() == rows[begin : begin + batch].tolist()


def test_weights_may_change_after_a_state_but_not_before_it(folders: dict[str, Path]) -> None:
    two = {name: folders[name] for name in ("web", "code")}
    first, other = {"web": 3, "code": 1}, {"web": 1, "code": 1}
    options: dict[str, Any] = {"seq_len": 4, "batch": 2, "seed": 1}
    before = open_shards(two, weights=first).batches(**options)
    rows = [next(before).tolist() for _ in range(6)]
    state = before.state_dict()
    after = open_shards(two, weights=[(0, first), (6, other)]).batches(**options)
    after.load_state_dict(state)
    assert after.at(0).tolist() != before.at(6).tolist()
    again = open_shards(two, weights=[(0, first), (6, other)]).batches(**options)
    assert [next(again).tolist() for _ in range(6)] == rows and np.array_equal(next(again), after.at(0))
    with pytest.raises(ValueError, match="the state is from batches with"):
        open_shards(two, weights=[(0, first), (5, other)]).batches(**options).load_state_dict(state)


@pytest.mark.parametrize("seed", range(12))
def test_shares_of_ten_million_tokens_are_those_wanted(folders: dict[str, Path], seed: int) -> None:
    rng = random.Random(seed)
    weights = {name: rng.choice([rng.random(), rng.randrange(1, 100)]) for name in NAMES[: rng.randrange(1, 5)]}
    mix = open_shards({name: folders[name] for name in weights}, weights=weights)
    batches = mix.batches(seq_len=2048, batch=8, step=10_000_000 // (8 * 2048))
    rows = {name: of["rows"] for name, of in batches.sources.items()}
    for name, weight in weights.items():
        wanted = weight / sum(weights.values())
        assert abs(batches.sources[name]["share"] - wanted) < 0.001
        assert abs(rows[name] - wanted * batches.row) < 0.5 + len(weights) * wanted / 2 + 0.1
    assert sum(rows.values()) == batches.row


def test_a_step_far_ahead_is_computed_and_not_walked_to(folders: dict[str, Path]) -> None:
    mix = open_shards(folders, weights=[(0, dict.fromkeys(NAMES, 1)), (10**12, {**dict.fromkeys(NAMES, 0), "web": 1})])
    assert mix.dtype == np.uint32
    for step in (10**6, 10**12 - 1, 2**63 - 1):
        assert next(mix.batches(seq_len=4, batch=2, seed=1, step=step)).shape == (2, 4)
    assert mix.batches(
        seq_len=4, batch=1, epochs={"web": 1, "code": None, "books": None, "math": None}, pad_id=0
    ).n_steps


@pytest.mark.parametrize(("weights", "message"), REFUSED["weights"])
def test_weights_that_fit_no_folders_are_refused(folders: dict[str, Path], weights: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        open_shards({"web": folders["web"], "code": folders["code"]}, weights=weights)


def test_what_cannot_be_mixed_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("ab cd " * 20)
    tokenize_files(Tokenizer.train("ab cd " * 20, 260), tmp_path / "text.txt", tmp_path / "other")
    both = {"web": 1, "code": 1}
    with pytest.raises(ValueError, match="'web' and 'code' were written with different tokenizers"):
        open_shards({"web": folders["web"], "code": tmp_path / "other"}, weights=both)
    with pytest.raises(ValueError, match="the dict of folders is empty"):
        open_shards({}, weights={})
    with pytest.raises(ValueError, match="weights need several folders"):
        open_shards(folders["web"], weights={"web": 1})  # type: ignore[call-overload]
    with pytest.raises(FileNotFoundError, match="not a folder of shards"):
        open_shards({"web": tmp_path}, weights={"web": 1})
    mix = open_shards({name: folders[name] for name in both}, weights=both)
    for epochs, message in (
        ({"cod": 1}, "epochs names 'cod', which is not one of the folders"),
        ({"code": 0}, "epochs must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            mix.batches(seq_len=4, batch=1, epochs=epochs, pad_id=0)
    with pytest.raises(ValueError, match="a mixture with epochs needs pad_id"):
        mix.batches(seq_len=4, batch=1, epochs=1)
    with pytest.raises(TypeError, match="folder must be"):
        pack_shards(mix, tmp_path / "rows", seq_len=4)  # type: ignore[arg-type]
