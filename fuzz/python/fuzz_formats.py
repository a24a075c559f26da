"""The parsers of model files under atheris: a Model or a ValueError that names the file, in bounded time.

    python fuzz/python/fuzz_formats.py PARSER [options of libFuzzer]
    python fuzz/python/fuzz_formats.py --list

PARSER is one of PARSERS; `make fuzz` runs each for a minute. Samples lie in fuzz/corpus/python/PARSER, small files of
every kind to begin with; what fails is written to fuzz/artifacts. A Model that a parser accepts must come back from
pairloom's own file as it was, and encode losslessly, or refuse to by a ValueError.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["pairloom"]):
    from pairloom import Tokenizer, formats
    from pairloom.errors import FormatError
    from pairloom.formats import gpt2, native, tiktoken
    from pairloom.model import LARGEST_ID, Model

sys.path.append(str(Path(__file__).parent))
import seeds

NAME = "the fuzzed file"
"""What messages must begin with."""

FOLDER = Path(__file__).parents[1]
SECONDS = 10


def read_gpt2(data: bytes) -> Model:
    """vocab.json and merges.txt, apart by SPLIT."""
    vocab, _, merges = data.partition(seeds.SPLIT)
    VOCAB.write_bytes(vocab)
    MERGES.write_bytes(merges)
    return gpt2.read_pair(VOCAB, MERGES, special_tokens=["ab"])


def read_ranks(data: bytes) -> Model:
    """A rank list: a length, the token's bytes and its rank, again and again."""
    provider = atheris.FuzzedDataProvider(data)
    found: dict[bytes, int] = {}
    while provider.remaining_bytes():
        token = provider.ConsumeBytes(provider.ConsumeIntInRange(0, 5))
        found[token] = provider.ConsumeIntInRange(-1, 400) if provider.ConsumeBool() else provider.ConsumeInt(4)
    # Ids that no tokenizer can have are refused before special tokens are looked at.
    is_valid = min(found.values(), default=0) >= 0 and max(found.values(), default=0) < LARGEST_ID - 1
    return tiktoken.from_ranks(found, "a", ["ab", "<e>"] if is_valid else None, NAME)


PARSERS: dict[str, Callable[[bytes], Model]] = {
    "schema1": lambda data: formats.read("pairloom", data, NAME),
    "schema2": lambda data: formats.read("pairloom", data, NAME),
    "huggingface": lambda data: formats.read("huggingface", data, NAME),
    "tekken": lambda data: formats.read("tekken", data, NAME),
    "tiktoken": lambda data: formats.read("tiktoken", data, NAME, pattern="gpt2", special_tokens=["ab", "<e>"]),
    "gpt2": read_gpt2,
    "ranks": read_ranks,
}
TEMPORARY = Path(tempfile.mkdtemp(prefix="pairloom-fuzz-"))
VOCAB, MERGES = TEMPORARY / "vocab.json", TEMPORARY / "merges.txt"


def check(name: str, data: bytes) -> None:
    """Reads one sample; whatever else than the rule allows comes out as an exception."""
    try:
        model = PARSERS[name](data)
    except FormatError as error:
        message = str(error)
        assert message.startswith((NAME, str(VOCAB), str(MERGES))), message
        assert len(message) < 1000, message
        return
    assert formats.read("pairloom", native.write(model), NAME) == model
    text = "ab <e> ab"
    try:
        tokenizer = Tokenizer.from_model(model)
        ids = tokenizer.encode_ordinary(text)
    except ValueError as error:
        assert len(str(error)) < len(data) + 1000, str(error)
    else:
        assert model.normalizer or tokenizer.decode_bytes(ids) == text.encode()


def main() -> None:
    """Fuzzes the parser that the first argument names."""
    if sys.argv[1:] == ["--list"]:
        print(*PARSERS)
        return
    if len(sys.argv) < 2 or sys.argv[1] not in PARSERS:
        raise SystemExit(f"usage: fuzz_formats.py {{{','.join(PARSERS)}}} [options of libFuzzer]")
    name = sys.argv[1]
    corpus, artifacts = FOLDER / "corpus/python" / name, FOLDER / "artifacts/python" / name
    for folder in (corpus, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds.of(name)):
        (corpus / f"seed-{number}").write_bytes(data)
    dictionary = TEMPORARY / "words"
    dictionary.write_text("".join(f'"{word}"\n' for word in map(seeds.escaped, seeds.WORDS)))
    options = [f"-dict={dictionary}", f"-artifact_prefix={artifacts}/", f"-timeout={SECONDS}", *sys.argv[2:]]
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda data: check(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
