"""Counts as Arrow tables and Parquet parts: the parts that engines return add up to the counts of the whole corpus."""

import random
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pairloom import CountBuilder, CountsError, PretokenCounts, Tokenizer

TEXTS = ["ab ab ab", "東京 and  <|endoftext|> more\n\n", "", "12345 '’s", "ab the cat " * 20]


COUNTS = PretokenCounts.from_texts(TEXTS, special_tokens=["<|endoftext|>"], corpus_specials="split")


def _plain() -> Any:
    """Returns the table as another program could write it: in any order, some pretokens twice, no metadata."""
    rows = [(pretoken, count - 1) for pretoken, count in COUNTS.items() if count > 1]
    rows += [(pretoken, 1) for pretoken, _ in COUNTS.items()]
    random.Random(1).shuffle(rows)
    return pa.table(
        {
            "other": pa.array(range(len(rows))),
            "count": pa.array([count for _, count in rows]),
            "pretoken": pa.array([pretoken for pretoken, _ in rows], pa.binary()),
        }
    )


def test_a_table_of_counts_comes_back() -> None:
    table = COUNTS.to_arrow()
    table.validate(full=True)
    assert table.schema.field("pretoken").type == pa.large_binary()
    assert table.schema.field("count").type == pa.int64()
    assert list(zip(table["pretoken"].to_pylist(), table["count"].to_pylist(), strict=True)) == list(COUNTS.items())
    assert PretokenCounts.from_arrow(table) == COUNTS
    empty = PretokenCounts.from_texts([])
    assert PretokenCounts.from_arrow(empty.to_arrow()) == empty


def test_tables_of_other_programs_are_summed() -> None:
    options: dict[str, Any] = {"special_tokens": ["<|endoftext|>"], "corpus_specials": "split"}
    for table in (_plain(), polars.DataFrame(_plain()), _plain().to_reader(3)):
        found = PretokenCounts.from_arrow(table, "gpt2", **options)
        assert dict(found.items()) == dict(COUNTS.items())
        assert found.metadata == COUNTS.metadata
        assert found.n_bytes == sum(len(pretoken) * count for pretoken, count in COUNTS.items())
    strings = pa.table({"pretoken": ["ab", "é"], "count": pa.array([2, 3], pa.uint8())})
    assert dict(PretokenCounts.from_arrow(strings, "gpt2").items()) == {b"ab": 2, "é".encode(): 3}
    large = pa.table({"pretoken": pa.array(["a", "b"]).dictionary_encode(), "count": [2**63 - 1] * 2})
    assert dict(PretokenCounts.from_arrow(large, "gpt2").items()) == {b"a": 2**63 - 1, b"b": 2**63 - 1}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"pretoken": [b"a"]}, 'columns "pretoken" and "count"'),
        ({"text": [b"a"], "count": [1]}, 'columns "pretoken" and "count"'),
        ({"pretoken": [1], "count": [1]}, "not string or binary"),
        ({"pretoken": [b"a"], "count": [1.5]}, "double, but must be integers"),
        ({"pretoken": [b"a", b"b"], "count": [1, -2]}, "row 1: the count is -2"),
        ({"pretoken": [b"a", b"b"], "count": [1, None]}, "row 1: the count is null"),
        ({"pretoken": [b"a", None], "count": [1, 2]}, "row 1: the pretoken is null or empty"),
        ({"pretoken": [b""], "count": [2]}, "row 0: the pretoken is null or empty"),
        ({"pretoken": [b"a", b"b", b"c"], "count": [2**63 - 1] * 3}, "exceeds 2\\*\\*64 - 1"),
        ({"pretoken": [b"a", b"b"], "count": pa.array([500, 900]).dictionary_encode()}, "dictionary"),
    ],
)
def test_tables_that_are_no_counts_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(CountsError, match=message):
        PretokenCounts.from_arrow(pa.table(columns), "gpt2")


def test_a_table_without_metadata_needs_a_pattern(tmp_path: Path) -> None:
    with pytest.raises(CountsError, match=r"pass pattern to PretokenCounts.from_parquet or"):
        PretokenCounts.from_arrow(_plain())
    with pytest.raises(CountsError, match="pattern is"):
        PretokenCounts.from_arrow(COUNTS.to_arrow(), "o200k")
    with pytest.raises(TypeError, match="table must be an Arrow column"):
        PretokenCounts.from_arrow({"pretoken": [b"a"], "count": [1]})
    damaged = COUNTS.to_arrow().replace_schema_metadata({"pairloom.pattern": "3"})
    with pytest.raises(CountsError, match="table: "):
        PretokenCounts.from_arrow(damaged)


def test_a_table_in_many_files_is_one_table(tmp_path: Path) -> None:
    # pyarrow writes the metadata of the whole table into each of its parts.
    texts = ["ab ab cd", "", "the é", "ab東京"]
    parts = [PretokenCounts.from_texts(texts), PretokenCounts.from_texts(["zz", "ab the"])]
    for number, part in enumerate(parts):
        table = part.to_arrow()
        for first in range(0, table.num_rows, 2):
            pq.write_table(table.slice(first, 2), tmp_path / f"{number}-{first}.parquet")
    for name in ("_SUCCESS", "_metadata.parquet", ".part.parquet"):
        (tmp_path / name).write_bytes(b"no Parquet")
    assert PretokenCounts.from_parquet(tmp_path) == parts[0] + parts[1]
    # Equal tables from equal parts of a corpus both count.
    pq.write_table(parts[1].to_arrow(), tmp_path / "more.parquet")
    pq.write_table(parts[1].to_arrow(), tmp_path / "again.parquet")
    files = [tmp_path / "more.parquet", tmp_path / "again.parquet"]
    assert PretokenCounts.from_parquet(files) == parts[1] + parts[1]
    # So do tables of special-token literals only, although they contain no pretokens.
    literals = PretokenCounts.from_texts(["<|x|>"], special_tokens=["<|x|>"], corpus_specials="split")
    files = [tmp_path / "literals-1.parquet", tmp_path / "literals-2.parquet"]
    for file in files:
        literals.save(file)
    assert PretokenCounts.from_parquet(files) == literals + literals
    # What an engine's GROUP BY writes has no metadata.
    pq.write_table(_plain(), tmp_path / "plain.parquet")
    options: dict[str, Any] = {"special_tokens": ["<|endoftext|>"], "corpus_specials": "split"}
    found = PretokenCounts.from_parquet(tmp_path / "plain.parquet", "gpt2", **options)
    assert found.metadata == COUNTS.metadata and dict(found.items()) == dict(COUNTS.items())


def test_parquet_that_is_damaged_or_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CountsError, match=r"no \*\.parquet in this folder"):
        PretokenCounts.from_parquet(tmp_path)
    with pytest.raises(FileNotFoundError):
        PretokenCounts.from_parquet(tmp_path / "none.parquet")
    path = tmp_path / "a.parquet"
    COUNTS.save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CountsError, match=r"a\.parquet: not readable as Parquet"):
        PretokenCounts.from_parquet(path)
    for table in (pa.table({"text": ["ab"]}), pa.table([["ab"], [1], [1]], ["pretoken", "count", "count"])):
        pq.write_table(table, path)
        with pytest.raises(CountsError, match=r"a\.parquet: needs exactly one column pretoken"):
            PretokenCounts.from_parquet(tmp_path)


def test_from_parquet_keeps_max_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pretokens = [b"%d" % number for number in rng.integers(0, 1 << 60, 200_000)]
    PretokenCounts.from_items([(pretoken, 1) for pretoken in pretokens]).save(tmp_path / "a.parquet")
    with pytest.raises(MemoryError, match="max_memory=2000000"):
        PretokenCounts.from_parquet(tmp_path, max_memory=2_000_000)
    assert len(PretokenCounts.from_parquet(tmp_path, max_memory=100_000_000)) == 200_000


class _Text(str):
    """A str that lets a test check whether it is still referenced."""

    __slots__ = ("__weakref__",)


def test_a_builder_holds_a_part_of_an_iterable() -> None:
    held: weakref.WeakSet[_Text] = weakref.WeakSet()
    most = 0

    def texts() -> Iterator[str]:
        nonlocal most
        for number in range(40):
            text = _Text(f"the cat {number} " * 50_000)
            held.add(text)
            most = max(most, len(held))
            yield text

    builder = CountBuilder()
    builder.add_texts(texts())
    assert most < 20
    assert builder.finish() == PretokenCounts.from_texts(map(str, texts()))


def test_errors_of_a_builder_count_the_texts_of_the_call() -> None:
    builder = CountBuilder()
    builder.add_texts(["a", "b"])
    for texts in (["x", "\ud800"], iter(["x", "\ud800"])):
        with pytest.raises(UnicodeEncodeError, match=r"texts\[1\]"):
            builder.add_texts(texts)
    for bad in (["x", None], iter(["x", None])):
        with pytest.raises(TypeError, match=r"texts\[1\]"):
            builder.add_texts(bad)  # type: ignore[arg-type]
    builder.add_texts(iter(["c"]))
    assert builder.finish() == PretokenCounts.from_texts(["a", "b", "c"])


def test_a_builder_leaves_out_a_table_that_it_refuses() -> None:
    builder = CountBuilder()
    builder.add_texts(["a"])
    with pytest.raises(CountsError, match="pattern is 'gpt2' here and 'cl100k' there"):
        builder.add_counts(PretokenCounts.from_texts(["b c"], "cl100k").to_arrow())
    assert builder.finish() == PretokenCounts.from_texts(["a"])
    builder = CountBuilder(None)
    of_gpt2 = PretokenCounts.from_texts([]).to_arrow().schema.metadata
    for pretoken, metadata in (("b", None), ("", of_gpt2)):
        table = pa.table({"pretoken": [pretoken], "count": [1]})
        with pytest.raises(CountsError):
            builder.add_counts(table.replace_schema_metadata(metadata))
    counts = PretokenCounts.from_texts(["a"], "cl100k")
    builder.add_counts(counts.to_arrow())
    assert builder.finish() == counts


def test_a_builder_whose_iterator_failed_late_does_not_finish() -> None:
    def texts() -> Iterator[str]:
        yield from ["the cat " * 100_000] * 6
        raise OSError("the connection was lost")

    builder = CountBuilder()
    with pytest.raises(OSError, match="lost"):
        builder.add_texts(texts())
    with pytest.raises(CountsError, match="incomplete"):
        builder.finish()


def test_a_builder_without_pattern_cuts_text_as_its_counts() -> None:
    builder = CountBuilder(None)
    for add in (builder.add_texts, builder.add_arrow):
        with pytest.raises(CountsError, match="no pattern"):
            add(pa.array(["12345"]))
    builder.add_counts(PretokenCounts.from_texts(["x"], "cl100k"))
    builder.add_texts(["12345"])
    builder.add_arrow(pa.array(["12345"]))
    assert builder.finish() == PretokenCounts.from_texts(["x", "12345", "12345"], "cl100k")
    builder = CountBuilder(None)
    builder.add_counts(COUNTS.pruned(3))
    with pytest.raises(CountsError, match="pruned"):
        builder.add_texts(["a"])


@pytest.mark.filterwarnings("error")
def test_pruned_counts_say_so_everywhere(tmp_path: Path) -> None:
    pruned = COUNTS.pruned(3)
    assert dict(pruned.items()) == {pretoken: count for pretoken, count in COUNTS.items() if count >= 3}
    assert pruned.metadata.min_count == 3
    assert (pruned.n_bytes, pruned.n_documents) == (COUNTS.n_bytes, COUNTS.n_documents)
    assert COUNTS.pruned(1) == COUNTS
    assert pruned.pruned(2) == pruned
    for name in ("a.counts", "a.parquet"):
        pruned.save(tmp_path / name)
        assert PretokenCounts.load(tmp_path / name) == pruned
    assert PretokenCounts.from_arrow(pruned.to_arrow()) == pruned
    assert PretokenCounts.from_parquet(tmp_path / "a.parquet") == pruned
    adding: list[Callable[[], PretokenCounts]] = [
        lambda: COUNTS + pruned,
        lambda: pruned + pruned,
        lambda: PretokenCounts.merged([COUNTS, pruned]),
    ]
    for add in adding:
        with pytest.raises(CountsError, match=r"counts that were pruned \(min_count 3\) cannot be added or subtracted"):
            add()
    with pytest.warns(UserWarning, match="occur fewer than 3 times were dropped"):
        Tokenizer.train_from_counts(pruned, 260, special_tokens=["<|endoftext|>"], corpus_specials="split")
    Tokenizer.train_from_counts(COUNTS, 258, special_tokens=["<|endoftext|>"], corpus_specials="split")
    with pytest.raises(ValueError, match="min_count"):
        COUNTS.pruned(0)


def test_a_model_of_pruned_counts_says_so_in_its_config(tmp_path: Path) -> None:
    texts = ["ab ab ab cd cd ef"] * 3 + ["gh ij"]
    whole = PretokenCounts.from_texts(texts)
    fields: dict[str, Any] = {"special_tokens": []}
    with pytest.warns(UserWarning, match="occur fewer than 4 times were dropped"):
        pruned = Tokenizer.train_from_counts(whole.pruned(4), 258, **fields)
    assert pruned.config is not None and pruned.config.min_count == 4
    for same in (
        Tokenizer.train_from_counts(whole, 258, min_count=4, **fields),
        Tokenizer.train(texts, 258, min_count=4, **fields),
    ):
        assert same == pruned and same.config is not None and same.config.min_count == 4
    plain = Tokenizer.train(texts, 264, **fields)
    assert plain.config is not None and plain.config.min_count == 1
    assert Tokenizer.train(texts, 264, min_count=2, **fields) != plain
    # Extending continues like the training, and remembers what was dropped.
    more = pruned.extend(texts, 260, keep_ids=False)
    assert more.config is not None and more.config.min_count == 4
    assert more == Tokenizer.train(texts, 260, min_count=4, **fields)
    with pytest.raises(ValueError, match="min_count must be at least 1"):
        Tokenizer.train(texts, 258, min_count=0)
