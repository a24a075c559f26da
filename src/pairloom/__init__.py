"""pairloom trains, applies and moves byte-level BPE tokenizers.

Names are imported when they are first used: the command line handles signals before anything of size is loaded.
"""

from __future__ import annotations

import importlib

from pairloom.errors import (
    CorpusError,
    CountsError,
    FormatError,
    MissingByteError,
    MissingKeyError,
    PairloomError,
    PatternError,
    ResumeError,
    SpecialTokenError,
    UnknownTokenIdError,
)

# As in `typing`, which takes ten times as long to import as everything here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pairloom._core import UNICODE_VERSION, __version__, cpu_tier
    from pairloom._internal.progress import ProgressEvent
    from pairloom.analysis.explain import explain_difference
    from pairloom.analysis.shards import shard_stats
    from pairloom.corpus import Corpus
    from pairloom.counts.pretoken_counts import CountBuilder, PretokenCounts
    from pairloom.pretokens import pretokenize
    from pairloom.shards.drop import drop_documents
    from pairloom.shards.job import ShardJob
    from pairloom.shards.packed import pack_shards
    from pairloom.shards.reading import open_shards
    from pairloom.shards.tokenize_files import tokenize_files
    from pairloom.shards.verify import verify_shards
    from pairloom.tokenizer import Tokenizer
    from pairloom.training.config import TrainingConfig
    from pairloom.training.cs336 import train_bpe

__all__ = [
    "UNICODE_VERSION",
    "Corpus",
    "CorpusError",
    "CountBuilder",
    "CountsError",
    "FormatError",
    "MissingByteError",
    "MissingKeyError",
    "PairloomError",
    "PatternError",
    "PretokenCounts",
    "ProgressEvent",
    "ResumeError",
    "ShardJob",
    "SpecialTokenError",
    "Tokenizer",
    "TrainingConfig",
    "UnknownTokenIdError",
    "__version__",
    "cpu_tier",
    "drop_documents",
    "explain_difference",
    "open_shards",
    "pack_shards",
    "pretokenize",
    "shard_stats",
    "tokenize_files",
    "train_bpe",
    "verify_shards",
]

_MODULES = {
    "UNICODE_VERSION": "_core",
    "cpu_tier": "_core",
    "Corpus": "corpus",
    "CountBuilder": "counts.pretoken_counts",
    "PretokenCounts": "counts.pretoken_counts",
    "ProgressEvent": "_internal.progress",
    "ShardJob": "shards.job",
    "Tokenizer": "tokenizer",
    "TrainingConfig": "training.config",
    "__version__": "_core",
    "drop_documents": "shards.drop",
    "explain_difference": "analysis.explain",
    "open_shards": "shards.reading",
    "pack_shards": "shards.packed",
    "pretokenize": "pretokens",
    "shard_stats": "analysis.shards",
    "tokenize_files": "shards.tokenize_files",
    "train_bpe": "training.cs336",
    "verify_shards": "shards.verify",
}


def __getattr__(name: str) -> object:
    """The public names, and the modules of the package."""
    if name in _MODULES:
        value = getattr(importlib.import_module(f"pairloom.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        try:
            return importlib.import_module(f"pairloom.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"pairloom.{name}":
                raise
    raise AttributeError(f"module 'pairloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return __all__
