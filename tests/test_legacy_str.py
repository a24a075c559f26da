"""str objects that C code created without data; CPython fills in the data on first use.

Only CPython before 3.12 has them: `PyUnicode_FromStringAndSize(NULL, n)` gave C code an array of wchar_t to fill in.
Until `PyUnicode_READY` such a str has length 0 and no data, so code that reads strs directly must call it.
"""

import ctypes
import sys
import warnings

import numpy as np
import pytest

from pairloom import Tokenizer

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="CPython 3.12 and later have no str without data (PEP 623)"
)

TEXTS = ["ab the", "café ab", "中文 ab", "\U0001f600 ab"]
"""One of each width of characters, and one of ASCII."""


def legacy(text: str) -> str:
    """Returns a new str equal to `text` that is not ready. Any access, even a comparison, makes it ready."""
    new, data = ctypes.pythonapi.PyUnicode_FromStringAndSize, ctypes.pythonapi.PyUnicode_AsUnicode
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_ssize_t)
    data.restype, data.argtypes = ctypes.c_void_p, (ctypes.py_object,)
    characters = ctypes.create_unicode_buffer(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made: str = new(None, len(characters) - 1)
        ctypes.memmove(data(made), characters, ctypes.sizeof(characters))
    return made


TOKENIZER = Tokenizer.train("ab ab the cat", 258)


@pytest.mark.parametrize("text", TEXTS)
def test_a_str_that_is_not_ready_is_read_as_its_text(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.encode(legacy(text)) == ids
    assert TOKENIZER.encode_to_numpy(legacy(text)).tolist() == ids
    assert TOKENIZER.encode_batch([legacy(text), legacy(text)]) == [ids, ids]
    assert np.array_equal(TOKENIZER.encode_batch_to_numpy([legacy(text)])[0], ids)
    assert TOKENIZER.count_tokens(legacy(text)) == len(ids)
    assert Tokenizer.train(legacy("ab ab the cat"), 258).encode(text) == ids


def test_an_unready_str_with_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        TOKENIZER.encode(legacy("ab\ud800"))
    with pytest.raises(UnicodeEncodeError, match=r"the text is texts\[1\]"):
        TOKENIZER.encode_batch(["ab", legacy("ab\ud800")])
