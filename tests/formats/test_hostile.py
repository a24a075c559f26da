"""Damaged files of every kind: a typed error that names the file and the location, in bounded time and memory."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pairloom.dropin.tokenizers as dropin
from pairloom import PretokenCounts, Tokenizer, formats
from pairloom._internal.arguments import MAX_SPECIAL_TOKENS
from pairloom.errors import FormatError
from pairloom.formats import huggingface, native
from pairloom.model import canonical_json
from tests import cases
from tests.formats.models import trained
from tests.formats.test_sentencepiece import SINGLE, model_file, tokenizer_json
from tests.formats.test_tiktoken import tekken_file
from tests.formats.test_words import METASPACE, clip_json, unknown_json
from tests.soak.isolation import run_cases

HOSTILE = Path(__file__).parents[2] / "testdata/hostile"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (HOSTILE / "README.md").read_text().splitlines()
    if line.startswith("| `")
]
BIG = 100 * 1024 * 1024


def test_every_file_has_its_story() -> None:
    assert {row[0].strip("`") for row in ROWS} == {path.name for path in HOSTILE.iterdir()} - {"README.md"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_the_error_is_the_one_that_the_story_ends_with(row: tuple[str, ...]) -> None:
    name, _, error, words = row
    path = HOSTILE / name.strip("`")
    with pytest.raises(FormatError) as caught:
        formats.load(path, pattern="gpt2" if path.suffix == ".tiktoken" else None)
    assert isinstance(caught.value, KeyError) == (error == "KeyError")
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert words in message
    assert len(message) < 600 + len(str(path))


def _json(format: str) -> Callable[[Any, Path], object]:
    return lambda file, _: formats.read(format, json.dumps(file).encode(), "file.json")


def _files(files: dict[str, Any], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_bytes((content if isinstance(content, str) else json.dumps(content)).encode("latin-1"))
    formats.load(folder / "file" if "file" in files else folder)


def _pieces(file: Any, _: Path) -> None:
    trainer = {int(key): value for key, value in file["trainer"].items()}
    data = model_file([*SINGLE, *file["pieces"]], trainer=trainer)
    Tokenizer.from_model(formats.read("sentencepiece", data, "file.json"))


def _stand_in(file: Any, _: Path) -> None:
    Tokenizer.from_model(formats.read("huggingface", json.dumps(file).encode())).as_huggingface()


def _post_processor(node: Any, _: Path) -> None:
    tokenizer = Tokenizer.from_model(trained([(97, 98)], post_processor=canonical_json(node)))
    assert tokenizer.encode("ab") == [256]
    tokenizer.encode("ab", add_special_tokens=True)


OF_FOLDER = Tokenizer.train(
    "the cat sat on the mat; naïve 東京 the end" * 3, 280, special_tokens=["<|endoftext|>", "<|im_end|>"]
)
RULED = trained([], special_tokens={"<s>": 300}, special_rules=(("<s>", "lstrip"),))
# How a file is read, and one that is not damaged, by the `base` of cases in testdata/damaged.json.
SOUND: dict[str, tuple[Callable[[Any, Path], object], Any]] = {
    "native": (_json("pairloom"), json.loads(native.write(trained([(97, 98), (32, 256)])))),
    "ruled": (_json("pairloom"), json.loads(native.write(RULED))),
    "trained": (_json("pairloom"), json.loads(native.write(Tokenizer.train("ab ab", 257, "cs336").model))),
    "tokenizer": (_json("huggingface"), json.loads(huggingface.write(trained([(97, 98), (32, 256), (99, 100)])))),
    "tekken": (_json("tekken"), tekken_file()),
    "words": (_json("huggingface"), unknown_json(random.Random(1), [{"type": "Whitespace"}], False)),
    "pieces": (_json("huggingface"), tokenizer_json(random.Random(1), "none")),
    "metaspace": (_json("huggingface"), unknown_json(random.Random(1), [METASPACE], True)),
    "clip": (_json("huggingface"), clip_json(random.Random(3))),
    "pieces of a .model": (_pieces, {"trainer": {}, "pieces": []}),
    "gpt2": (_files, {"vocab.json": {"a": 0, "b": 1, "ab": 2}, "merges.txt": "a b\n"}),
    "folder": (_files, {"tokenizer.json": json.loads(huggingface.write(OF_FOLDER.model)), "tokenizer_config.json": {}}),
    "other kind": (_files, {"file": huggingface.write(trained([(97, 98)])).decode("latin-1")}),
    "tiktoken": (
        lambda lines, _: formats.read("tiktoken", "\n".join(lines).encode(), "file.json", pattern="a"),
        ["AA== 0", "AQ== 1", "YQ== 97"],
    ),
    "post-processor": (_post_processor, {"type": "BertProcessing", "cls": ["<s>", 258], "sep": ["</s>", 257]}),
    "stand-in": (_stand_in, json.loads(huggingface.write(trained([(97, 98)])))),
    "drop-in": (lambda text, _: dropin.Tokenizer.from_str(text[0]), [dropin.Tokenizer(dropin.models.BPE()).to_str()]),
}


@pytest.mark.parametrize("base", SOUND)
def test_a_file_that_is_not_damaged_is_read(base: str, tmp_path: Path) -> None:
    read, intact = SOUND[base]
    read(intact, tmp_path)


@pytest.mark.parametrize("case", cases.damaged_cases(*SOUND), ids=str)
def test_a_changed_file_is_refused_with_the_place(case: cases.Case, tmp_path: Path) -> None:
    read, intact = SOUND[case.base]
    with pytest.raises(ValueError) as caught:
        read(cases.applied(case, intact), tmp_path)
    assert isinstance(caught.value, FormatError) or case.base in ("pieces of a .model", "drop-in")
    assert isinstance(caught.value, KeyError) == (case.error.type is KeyError)
    has_place = case.base not in ("pieces of a .model", "post-processor", "stand-in", "drop-in")
    assert not has_place or str(caught.value).startswith((str(tmp_path), "file.json: "))
    case.error.check(caught.value)


HUGE: dict[str, Callable[[int], bytes]] = {
    "zeros": lambda n: b"\0" * n,
    "brackets": lambda n: b"[" * n,
    "nested key": lambda n: b'{"merges":' + b"[" * n,
    "nested model": lambda n: b'{"model":' + b"[" * n,
    "nested objects": lambda n: b'{"model":' * (n // 9),
    "one string": lambda n: b'{"model":"' + b"a" * n,
    "one number": lambda n: b'{"merges":[' + b"9" * n,
    "one number for tokenizers": lambda n: b'{"model":[' + b"9" * n,
    "no end of numbers": lambda n: b'{"merges":[' + b"0," * (n // 2),
    "one line": lambda n: b"AA== 0\n" + b"A" * n,
    "spaces": lambda n: b" " * n,
}


@pytest.mark.parametrize("kind", HUGE)
@pytest.mark.long
def test_huge_files_are_refused_within_bounds(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "huge"
    path.write_bytes(HUGE[kind](BIG if kind == "zeros" else BIG // 4))
    readable = [format for format in (None, *formats.READABLE) if format != "gpt2"]

    def case(number: int) -> bool:
        format = readable[number]
        try:
            formats.load(path, format=format, pattern="gpt2" if format == "tiktoken" else None)
        except ValueError as error:
            return str(error).startswith(str(path)) and len(str(error)) < 1000
        return False

    for number, outcome in run_cases(case, len(readable)):
        assert outcome.result and outcome.seconds < 20 and outcome.n_bytes < 1 << 30, (readable[number], outcome)


def _with_added_tokens(n: int, **flags: bool) -> str:
    file = json.loads(Tokenizer.train("ab", 256, special_tokens=[]).as_huggingface().to_str())
    entry = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **flags}
    file["added_tokens"] = [{"id": 256 + index, "content": f"<{index}>", **entry} for index in range(n)]
    return json.dumps(file)


def test_many_added_tokens_with_rules_are_read_in_linear_time(tmp_path: Path) -> None:
    path, n = tmp_path / "tokenizer.json", 10_000
    path.write_text(_with_added_tokens(n, single_word=True, lstrip=True, rstrip=True))

    def case(_: int) -> bool:
        tokenizer = Tokenizer.load(path)
        tokenizer.save(tmp_path / "again.json", format="huggingface")
        return len(tokenizer.special_tokens) == n

    # Searching the whole list for each rule took half a minute of processor time.
    [(_, outcome)] = run_cases(case, 1)
    assert outcome.result and outcome.seconds < 8, outcome


def test_many_entries_of_equal_bytes_are_read_in_linear_time(tmp_path: Path) -> None:
    path, n = tmp_path / "tokenizer.json", 50_000
    file = json.loads(Tokenizer.train("ab", 256, special_tokens=[]).as_huggingface().to_str())
    vocab, letters = file["model"]["vocab"], [*file["model"]["vocab"]]
    for index in range(n):
        # A space is the letter Ġ, so both are the bytes of " 0000000", " 0000001", ...
        vocab[f"\u0120{index:07}"], vocab[f" {index:07}"] = 256 + 2 * index, 257 + 2 * index
    file["model"]["merges"] = [f"{left} {right}" for left in letters[:200] for right in letters[:200]]
    vocab |= {left + right: 256 + 2 * n + 200 * i + j for i, left in enumerate(letters[:200])
              for j, right in enumerate(letters[:200])}  # fmt: skip
    path.write_text(json.dumps(file))

    def case(_: int) -> bool:
        return len(Tokenizer.load(path).special_tokens) == n

    # Searching all merges and all special tokens for each such entry took a quarter of a minute.
    [(_, outcome)] = run_cases(case, 1)
    assert outcome.result and outcome.seconds < 5, outcome


def test_more_added_tokens_than_any_tokenizer_has_are_refused(tmp_path: Path) -> None:
    n = MAX_SPECIAL_TOKENS + 1
    path = tmp_path / "tokenizer.json"
    path.write_text(_with_added_tokens(n))
    with pytest.raises(FormatError, match=rf"tokenizer\.json: contains {n} added tokens; at most {n - 1} are allowed"):
        Tokenizer.load(path)
    literals = [f"<{index}>" for index in range(n)]
    for call in (
        lambda: Tokenizer.train("ab", 260, special_tokens=literals),
        lambda: Tokenizer.train("ab", 260).add_special_tokens(literals),
        lambda: Tokenizer.from_ranks({bytes([b]): b for b in range(256)}, "gpt2", literals),
        lambda: Tokenizer({b: bytes([b]) for b in range(256)}, [], {t: 256 + i for i, t in enumerate(literals)}),
        lambda: PretokenCounts.from_texts(["ab"], special_tokens=literals),
    ):
        with pytest.raises(ValueError, match=f"there are {n} special tokens, but at most {n - 1} are allowed"):
            call()
