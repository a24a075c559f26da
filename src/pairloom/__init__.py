"""pairloom trains, applies and moves byte-level BPE tokenizers.

Names are imported on first use, so that the command line can install signal handlers before it loads anything large.
"""

from __future__ import annotations

import importlib

from pairloom.errors import CheckpointError as CheckpointError
from pairloom.errors import CorpusError as CorpusError
from pairloom.errors import CountsError as CountsError
from pairloom.errors import FormatError as FormatError
from pairloom.errors import MissingByteError as MissingByteError
from pairloom.errors import MissingKeyError as MissingKeyError
from pairloom.errors import PairloomError as PairloomError
from pairloom.errors import PatternError as PatternError
from pairloom.errors import ResumeError as ResumeError
from pairloom.errors import SpecialTokenError as SpecialTokenError
from pairloom.errors import UnknownTokenIdError as UnknownTokenIdError

# Type checkers treat this like `typing.TYPE_CHECKING`; importing `typing` would take ten times as long as this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pairloom._core import UNICODE_VERSION as UNICODE_VERSION
    from pairloom._core import __version__ as __version__
    from pairloom._core import cpu_tier as cpu_tier
    from pairloom._internal.progress import ProgressEvent as ProgressEvent
    from pairloom.analysis.explain import explain_difference as explain_difference
    from pairloom.analysis.shards import shard_stats as shard_stats
    from pairloom.corpus import Corpus as Corpus
    from pairloom.counts.pretoken_counts import CountBuilder as CountBuilder
    from pairloom.counts.pretoken_counts import PretokenCounts as PretokenCounts
    from pairloom.pretokens import pretokenize as pretokenize
    from pairloom.shards.drop import drop_documents as drop_documents
    from pairloom.shards.job import ShardJob as ShardJob
    from pairloom.shards.packed import pack_shards as pack_shards
    from pairloom.shards.reading import open_shards as open_shards
    from pairloom.shards.tokenize_files import tokenize_files as tokenize_files
    from pairloom.shards.verify import verify_shards as verify_shards
    from pairloom.tokenizer import Tokenizer as Tokenizer
    from pairloom.training.config import TrainingConfig as TrainingConfig
    from pairloom.training.cs336 import train_bpe as train_bpe

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

__all__ = sorted([*_MODULES, *(name for name in globals() if name.endswith("Error"))])


def __getattr__(name: str) -> object:
    """Imports a public name, or a module of the package, on first use."""
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
