"""pairloom trains, applies and moves byte-level BPE tokenizers."""

from pairloom._core import UNICODE_VERSION, __version__
from pairloom.config import TrainingConfig
from pairloom.corpus import Corpus
from pairloom.counts import PretokenCounts
from pairloom.errors import (
    CheckpointError,
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
from pairloom.pretokens import pretokenize
from pairloom.progress import ProgressEvent
from pairloom.tokenize import tokenize_files
from pairloom.tokenizer import Tokenizer
from pairloom.training import train_bpe

__all__ = [
    "UNICODE_VERSION",
    "CheckpointError",
    "Corpus",
    "CorpusError",
    "CountsError",
    "FormatError",
    "MissingByteError",
    "MissingKeyError",
    "PairloomError",
    "PatternError",
    "PretokenCounts",
    "ProgressEvent",
    "ResumeError",
    "SpecialTokenError",
    "Tokenizer",
    "TrainingConfig",
    "UnknownTokenIdError",
    "__version__",
    "pretokenize",
    "tokenize_files",
    "train_bpe",
]
