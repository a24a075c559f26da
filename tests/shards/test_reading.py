"""Shards for a training loop: every token once per epoch, in an order that depends only on seed, rank and step."""

import itertools
import json
import pickle
import random
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pairloom import FormatError, Tokenizer, open_shards, tokenize_files, verify_shards
from pairloom.shards.files import FORMATS
from pairloom.shards.order import permuted
from tests.cases import REFUSED
from tests.shards.making import page_code, random_lines
from tests.shards.reading import documents_of

TOKENIZER = Tokenizer.train("ab ab the cat the hat " * 50, 262)
PAD = 9999


def _shards(folder: Path, seed: int, format: str = "npy", n: int = 40) -> Path:
    """Shards whose ids need not be distinct: the tests identify tokens by their position."""
    shard_tokens = random.Random(seed).choice([1, 50, 200, 10**6])
    source = random_lines(folder, seed, n)
    tokenize_files(TOKENIZER, source, folder / "shards", format=format, shard_tokens=shard_tokens)
    return folder / "shards"


def test_threads_that_share_batches_get_each_once(tmp_path: Path) -> None:
    shards = open_shards(_shards(tmp_path, 0))
    expected = [batch.tobytes() for batch in shards.batches(seq_len=2, batch=1, epochs=3, pad_id=PAD, seed=3)]
    shared = shards.batches(seq_len=2, batch=1, epochs=3, pad_id=PAD, seed=3)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: [batch.tobytes() for batch in shared], range(4)))
    assert sorted(itertools.chain.from_iterable(found)) == sorted(expected)


def test_shards_open_while_the_parser_of_python_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # CPython 3.11's sometimes fails when two threads use it; NumPy uses it for each header.
    folder = _shards(tmp_path, 1)
    expected = documents_of(folder)

    def fail(*_: Any) -> Any:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr("ast.literal_eval", fail)
    assert [ids.tolist() for ids in open_shards(folder)] == expected


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_documents_and_tokens_are_those_of_the_layout(tmp_path: Path, format: str, seed: int) -> None:
    folder = _shards(tmp_path, seed, format)
    expected = documents_of(folder)
    shards = open_shards(folder)
    assert [document.tolist() for document in shards] == expected
    assert [shards[number].tolist() for number in range(len(shards))] == expected
    assert [document.tolist() for document in shards[-3:]] == expected[-3:]
    assert shards[-1].tolist() == expected[-1]
    assert shards.lengths().tolist() == [len(document) for document in expected]
    joined = [i for document in expected for i in document]
    assert shards.n_tokens == len(joined)
    rng = random.Random(seed)
    for _ in range(50):
        start, stop = sorted(rng.choices(range(len(joined) + 1), k=2))
        assert shards.tokens(start, stop).tolist() == joined[start:stop]
    for number in (len(shards), -len(shards) - 1):
        with pytest.raises(IndexError, match="document"):
            shards[number]
    again = pickle.loads(pickle.dumps(shards))
    assert again[3].tolist() == expected[3]


def test_a_pickled_folder_keeps_its_shards_when_others_follow(tmp_path: Path) -> None:
    paths = [tmp_path / "1.txt", tmp_path / "2.txt"]
    for path in paths:
        path.write_text("the cat\n\na hat")
    # A full shard is not written again.
    options: dict[str, Any] = {"separator": "\n\n", "shard_tokens": 1}
    tokenize_files(TOKENIZER, paths[:1], tmp_path / "out", **options)
    shards = open_shards(tmp_path / "out")
    pickled = pickle.dumps(shards)
    tokenize_files(TOKENIZER, paths, tmp_path / "out", resume=True, **options)
    again = pickle.loads(pickled)
    assert [ids.tolist() for ids in again] == [ids.tolist() for ids in shards]
    assert (again.n_tokens, len(again)) == (shards.n_tokens, 2)
    assert len(open_shards(tmp_path / "out")) == 4


def test_a_document_is_a_view_of_the_mapped_file(tmp_path: Path) -> None:
    shards = open_shards(_shards(tmp_path, 1))
    document = shards[next(number for number in range(len(shards)) if len(shards[number]))]
    maps = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    bounds = [tuple(int(at, 16) for at in line[0].split("-")) for line in maps if line[-1].startswith(str(tmp_path))]
    assert any(start <= document.ctypes.data < end for start, end in bounds)
    with pytest.raises(ValueError, match="read-only"):
        document[0] = 1


def test_mapped_shards_keep_no_file_open(tmp_path: Path) -> None:
    # A folder of 512 shards used to keep 1,024 files open, the limit of a process on many machines.
    before = len(list(Path("/proc/self/fd").iterdir()))
    shards = open_shards(_shards(tmp_path, 1))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert [ids.tolist() for ids in shards] == documents_of(tmp_path / "shards")


@pytest.mark.parametrize("format", FORMATS)
def test_shards_stay_when_the_working_directory_changes(
    tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = documents_of(_shards(tmp_path, 1, format))
    monkeypatch.chdir(tmp_path)
    shards = open_shards("shards")
    monkeypatch.chdir("/")
    assert [ids.tolist() for ids in shards] == expected
    assert [ids.tolist() for ids in pickle.loads(pickle.dumps(shards))] == expected


def _numbered(shards: Any) -> Any:
    """The shards with tokens that are their own positions."""

    def copy_pieces(starts: Any, stops: Any, ids: npt.NDArray[Any], places: Any) -> None:
        for start, stop, place in zip(starts, stops, places, strict=True):
            assert start < stop
            ids[place : place + stop - start] = np.arange(start, stop)

    shards.copy_pieces = copy_pieces
    return shards


def _options(rng: random.Random) -> dict[str, Any]:
    return {
        "seq_len": rng.choice([1, 2, 7, 16, 64, 5000]),
        "batch": rng.choice([1, 2, 5]),
        "seed": rng.choice([None, 0, 1, 2**64 - 1]),
        "shuffle": rng.choice(["block", "document"]),
        "mode": rng.choice(["packed", "padded"]),
        "dtype": np.int64,
        "pad_id": -1,
    }


@pytest.mark.parametrize("seed", range(30))
def test_every_token_occurs_once_an_epoch_on_all_ranks_together(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    shards = _numbered(open_shards(_shards(tmp_path, seed, n=rng.choice([1, 3, 40]))))
    if not shards.n_tokens:
        with pytest.raises(ValueError, match="contains no tokens"):
            shards.batches(seq_len=2, batch=2)
        return
    options, world_size, epochs = _options(rng), rng.choice([1, 2, 3]), rng.choice([1, 2, 3])
    ranks = [
        list(shards.batches(**options, rank=rank, world_size=world_size, epochs=epochs)) for rank in range(world_size)
    ]
    assert len({len(batches) for batches in ranks}) == 1
    steps = [np.concatenate(step) for step in zip(*ranks, strict=True)]
    assert {step.shape for step in steps} == {(options["batch"] * world_size, options["seq_len"])}
    rows = np.concatenate(steps)
    found, lengths = rows[rows >= 0], shards.lengths()
    assert np.array_equal(np.sort(found), np.repeat(np.arange(shards.n_tokens), epochs))
    if options["mode"] == "packed":
        # Epoch by epoch, with padding only at the end.
        for epoch in range(epochs):
            part = found[epoch * shards.n_tokens : (epoch + 1) * shards.n_tokens]
            assert np.array_equal(np.sort(part), np.arange(shards.n_tokens))
            if options["shuffle"] == "document":
                assert np.isin(part[np.diff(part, prepend=-5) != 1], np.cumsum(lengths) - lengths).all()
        assert (rows.reshape(-1)[: len(found)] >= 0).all()
    else:
        ends = np.cumsum(lengths)
        for row in rows:
            tokens = row[row >= 0]
            assert (row[: len(tokens)] >= 0).all()
            assert len(set(np.searchsorted(ends, tokens, side="right").tolist())) <= 1
            assert (np.diff(tokens) == 1).all()
    # One machine sees the same rows as many machines.
    alone = {**options, "batch": options["batch"] * world_size}
    assert all(map(np.array_equal, shards.batches(**alone, epochs=epochs), steps))


@pytest.mark.parametrize("seed", range(15))
def test_a_state_goes_on_at_its_row_with_other_ranks(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    shards = _numbered(open_shards(_shards(tmp_path, seed)))
    options = {**_options(rng), "epoch": rng.randrange(3), "epochs": rng.choice([None, 2])}
    options["batch"] = 1
    whole = np.concatenate([*itertools.islice(shards.batches(**options), 400)])
    before = shards.batches(**{**options, "batch": rng.choice([1, 2, 5])}, world_size=2, rank=1, row=rng.randrange(4))
    for _ in range(rng.randrange(5)):
        next(before, None)
    state = json.loads(json.dumps(before.state_dict()))
    assert state["row"] == before.row
    after = [shards.batches(**{**options, "batch": 3}, world_size=3, rank=rank) for rank in range(3)]
    for batches in after:
        batches.load_state_dict(state)
    none = np.zeros((0, options["seq_len"]), np.int64)
    found = np.concatenate([none, *(ids for step in itertools.islice(zip(*after, strict=True), 10) for ids in step)])
    expected = whole[before.row : before.row + len(found)]
    assert np.array_equal(found[: len(expected)], expected) and (found[len(expected) :] == -1).all()
    # The same with arguments.
    again = shards.batches(**{**options, "batch": 9}, row=state["row"])
    assert np.array_equal(found, np.concatenate([none, *itertools.islice(again, 10)]))


def test_an_epoch_has_its_own_order_whichever_is_the_first(tmp_path: Path) -> None:
    shards = _numbered(open_shards(_shards(tmp_path, 5)))
    for options in ({"shuffle": "block"}, {"shuffle": "document"}, {"mode": "padded", "shuffle": "block"}):
        wanted: Any = {"seq_len": 8, "batch": 1, "seed": 3, "pad_id": -1, "dtype": np.int64, **options}
        stream = np.concatenate([*shards.batches(**wanted, epochs=3)]).reshape(-1)
        orders = [np.concatenate([*shards.batches(**wanted, epochs=1, epoch=n)]).reshape(-1) for n in range(3)]
        orders = [ids[ids >= 0] for ids in orders]
        assert np.array_equal(stream[stream >= 0], np.concatenate(orders))
        assert len({ids.tobytes() for ids in orders}) == 3


def test_a_state_of_batches_with_other_rows_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    shards, others = open_shards(_shards(tmp_path / "a", 0)), open_shards(_shards(tmp_path / "b", 1))
    options: dict[str, Any] = {"seq_len": 4, "batch": 2, "seed": 1, "pad_id": PAD}
    batches = shards.batches(**options)
    changes: list[dict[str, Any]] = [
        {"seq_len": 5},
        {"seed": 2},
        {"seed": None},
        {"shuffle": "document"},
        {"mode": "padded"},
    ]
    states = [shards.batches(**{**options, **change}).state_dict() for change in changes]
    for state in [*states, others.batches(**options).state_dict(), {}, {**batches.state_dict(), "row": -1}]:
        with pytest.raises((ValueError, TypeError), match=r"the state is from batches with|row must be"):
            batches.load_state_dict(state)
    whole = shards.batches(seq_len=1, batch=1, epochs=1)
    two_rows = shards.batches(seq_len=1, batch=2, epochs=1, row=shards.n_tokens % 2)
    with pytest.raises(ValueError, match="the last step needs 1 more ids than the epochs have"):
        two_rows.load_state_dict({**whole.state_dict(), "row": 1 - shards.n_tokens % 2})


def test_orders_are_the_same_on_every_machine() -> None:
    assert permuted(range(10), 10, 1, 0).tolist() == [8, 6, 5, 1, 7, 4, 3, 0, 2, 9]
    assert permuted([0, 1, 2], 10**12, 2**64 - 1, 7).tolist() == [323419374109, 384052233718, 804702288445]


@pytest.mark.parametrize(("options", "message"), REFUSED["batches"])
def test_wrong_options_are_refused_at_once(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    shards = open_shards(_shards(tmp_path, 2))
    with pytest.raises(ValueError, match=message):
        shards.batches(**{"seq_len": 4, "batch": 2, "seed": 1, **options})


def test_what_is_no_whole_folder_of_shards_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"folder must be on this machine, not at the URL gs://bucket/shards; copy it first"
    ):
        verify_shards("gs://bucket/shards")
    with pytest.raises(FileNotFoundError, match="not a folder of shards, because it has no manifest"):
        open_shards(tmp_path)
    with pytest.raises(FileNotFoundError, match="not a folder of shards"):
        open_shards(tmp_path / "none")
    with pytest.raises(TypeError, match="folder must be"):
        open_shards(3)  # type: ignore[call-overload]
    folder = _shards(tmp_path, 2)
    manifest = json.loads((folder / "manifest.json").read_text())
    unfinished = shutil.copytree(folder, tmp_path / "unfinished")
    changed = {**manifest, "complete": False, "next": manifest["shards"][-1]["next"]}
    (unfinished / "manifest.json").write_text(json.dumps(changed))
    with pytest.raises(
        FormatError, match=r"has not finished; resume it, or .*: open_shards\(folder, incomplete=True\)"
    ):
        open_shards(unfinished)
    assert open_shards(unfinished, incomplete=True).n_tokens == open_shards(folder).n_tokens
    name = manifest["shards"][0]["file"]
    damages: list[Callable[[Path], object]] = [
        lambda path: path.write_bytes(path.read_bytes()[:-2]),
        Path.unlink,
        lambda path: np.save(path.with_suffix(".offsets.npy"), np.arange(3)),
        lambda path: np.save(path, np.zeros(5, np.float64)),
    ]
    for number, damage in enumerate(damages):
        damaged = shutil.copytree(folder, tmp_path / str(number))
        damage(damaged / name)
        with pytest.raises(FormatError, match=re.escape(name)):
            open_shards(damaged)


@pytest.mark.parametrize("shuffle", ["block", "document"])
@pytest.mark.parametrize("mode", ["packed", "padded"])
def test_a_step_far_ahead_is_computed_and_not_walked_to(tmp_path: Path, mode: str, shuffle: str) -> None:
    shards = _numbered(open_shards(_shards(tmp_path, 2)))
    options: dict[str, Any] = {"seq_len": 4, "batch": 2, "seed": 1, "shuffle": shuffle, "mode": mode, "pad_id": -1}
    options["dtype"] = np.int64
    n_units = shards.n_tokens if mode == "packed" else int((-(-shards.lengths() // 4)).sum())
    # After so many steps as there are units in an epoch, a step begins an epoch; the 2 * 4 * 10**14th, or 2 * 10**14th.
    far = shards.batches(**options, step=n_units * 10**14)
    found, rows = [], n_units if mode == "padded" else -(-n_units // 4)
    for _ in range(-(-rows // 2)):
        found += next(far).reshape(-1).tolist()
    ids = [token for token in found if token >= 0]
    assert sorted(set(ids)) == list(range(shards.n_tokens)) and sorted(ids[: shards.n_tokens]) == sorted(set(ids))
    assert next(shards.batches(**options, step=2**63 - 1)).shape == (2, 4)
    assert list(shards.batches(**options, step=2**63 - 1, epochs=3)) == []


@pytest.mark.parametrize("seed", range(8))
def test_batches_hold_the_ids_that_lie_at_their_numbers(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder = _shards(tmp_path, seed, FORMATS[seed % 4])
    options = {**_options(rng), "epochs": 2}
    joined = np.array([token for document in documents_of(folder) for token in document])
    numbers = _numbered(open_shards(folder)).batches(**options)
    for ids, places in zip(open_shards(folder).batches(**options), numbers, strict=True):
        assert np.array_equal(ids, np.where(places < 0, -1, joined[places]))


def test_the_documented_reading_loop_gives_the_same_rows(tmp_path: Path) -> None:
    folder = _shards(tmp_path, 4)
    scope: dict[str, Any] = {}
    exec(page_code("# A training loop").replace('"shards")', f"{str(folder)!r})").replace("2048", "16"), scope)
    shards = open_shards(folder)
    batches = shards.batches(seq_len=16, batch=1, epochs=1, pad_id=0)
    n_full = shards.n_tokens // 16
    assert n_full > 10
    assert np.array_equal(np.concatenate(scope["rows"]), np.concatenate(list(batches)[:n_full]).reshape(-1))


def test_the_documented_permutation_is_the_one_used(tmp_path: Path) -> None:
    scope: dict[str, Any] = {}
    exec(page_code("def permuted"), scope)
    for n in (1, 2, 3, 10, 77):
        for seed, epoch in ((0, 0), (1, 5), (2**64 - 1, 3)):
            documented = [scope["permuted"](position, n, seed, epoch) for position in range(n)]
            assert documented == permuted(range(n), n, seed, epoch).tolist()
    shards = _numbered(open_shards(_shards(tmp_path, 4)))
    n_full = shards.n_tokens // 16
    found = np.concatenate(list(itertools.islice(shards.batches(seq_len=16, batch=1, seed=5, dtype=np.int64), n_full)))
    assert (found[:, 0] // 16).tolist() == [scope["permuted"](row, n_full, 5, 0) for row in range(n_full)]
