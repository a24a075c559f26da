"""A stand-in for the library `tokenizers` (0.23) that trains BPE: the same script with another import line.

    import pairloom.dropin.tokenizers as tokenizers

What training takes is here, and writes the library's tokenizer.json byte for byte. What is not taken is an error that
says so. The library itself is not needed.
"""

from pairloom.dropin.encoding import Encoding
from pairloom.dropin.tokenizers import (
    decoders,
    implementations,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from pairloom.dropin.tokenizers.components import AddedToken, Regex
from pairloom.dropin.tokenizers.implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from pairloom.dropin.tokenizers.models import Token
from pairloom.dropin.tokenizers.tokenizer import Tokenizer

__version__ = "0.23.3"
"""The release of the library for which it stands."""

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "Encoding",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "Token",
    "Tokenizer",
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]
