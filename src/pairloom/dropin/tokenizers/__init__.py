"""A stand-in for the library `tokenizers` (0.23) that trains BPE: change only the import of a script.

    import pairloom.dropin.tokenizers as tokenizers

It has what training BPE needs, and writes the library's tokenizer.json byte for byte. Anything else raises an error
that says so. The library itself is not needed.
"""

from pairloom.dropin.encoding import Encoding as Encoding
from pairloom.dropin.tokenizers import decoders as decoders
from pairloom.dropin.tokenizers import implementations as implementations
from pairloom.dropin.tokenizers import models as models
from pairloom.dropin.tokenizers import normalizers as normalizers
from pairloom.dropin.tokenizers import pre_tokenizers as pre_tokenizers
from pairloom.dropin.tokenizers import processors as processors
from pairloom.dropin.tokenizers import trainers as trainers
from pairloom.dropin.tokenizers.components import AddedToken as AddedToken
from pairloom.dropin.tokenizers.components import Regex as Regex
from pairloom.dropin.tokenizers.implementations import BertWordPieceTokenizer as BertWordPieceTokenizer
from pairloom.dropin.tokenizers.implementations import ByteLevelBPETokenizer as ByteLevelBPETokenizer
from pairloom.dropin.tokenizers.implementations import CharBPETokenizer as CharBPETokenizer
from pairloom.dropin.tokenizers.implementations import SentencePieceBPETokenizer as SentencePieceBPETokenizer
from pairloom.dropin.tokenizers.implementations import SentencePieceUnigramTokenizer as SentencePieceUnigramTokenizer
from pairloom.dropin.tokenizers.tokenizer import Tokenizer as Tokenizer

__version__ = "0.23.3"
"""The release of the library that this stands in for."""
