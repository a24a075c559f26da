"""A stand-in for the library `tokenizers` (0.23) that trains BPE: change only the import of a script.

    import pairloom.dropin.tokenizers as tokenizers

It has what training BPE needs, and writes the library's tokenizer.json byte for byte. Anything else raises an error
that says so. The library itself is not needed.
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
from pairloom.dropin.tokenizers.tokenizer import Tokenizer

__version__ = "0.23.3"
"""The release of the library that this stands in for."""

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "Encoding",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "Tokenizer",
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]
