"""The pre-tokenizers of published models, and their settings with a small vocabulary: all ids are the owners'.

testdata/ holds them as published; configurations.json also normalizers, post-processors and flags of added tokens.
"""

import json
import random
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest
import tokenizers

from pairloom import FormatError, Tokenizer, pretokenize
from pairloom._internal.byte_alphabet import from_alphabet
from pairloom.formats import huggingface, tiktoken
from pairloom.formats.shared.tiktoken_pattern import named_of
from pairloom.patterns import SPELLINGS
from pairloom.reference.pretokens import pretokenize as reference_pretokenize
from tests.cases import INPUTS, TESTDATA
from tests.formats.models import trained

_PUBLISHED: Final = dict(json.loads((TESTDATA / "pre_tokenizers.json").read_text(encoding="utf-8")))
# These change their text: SentencePiece models, and CLIP, which drops white space. `test_words.py` tests both as
# published.
_REFUSED: Final = {"Metaspace": 'the step "Metaspace" is not supported', "CLIP": "drops white space before ByteLevel"}
_TEXT: Final = (
    "the| cat|Cats|camelCase|don't|IT'S|'ll|'LL've|x'\u017f|K\u212a|1|12|1234567| |  |   |\n|\r\n|\n\n| \n|\t|"
    "\xa0|\u3000|\u2028|\x85|!|...|?!|(a)|[b]|/\n|//|\\|_|`|~|$5|<sentinel:12>|IMGIMGABCZ|。|…|“|，|"
    "théâtre|e\u0301|\u0301|東京|カタカナ|한국어|ㄅㄆ|ไทย|हिन्दी|العربية|١٢٣٤|²³|½|Ⅷ|ß|ﬁ|𐐀|👩\u200d👩|\u200d|"
    "\ufeff|\x00|\x1c|🇩🇪|a.b|3.14|A1b2|a_1|\u0345|\u200b"
)
PARTS: Final = (*_TEXT.split("|"), 7 * " ", 40 * " ", 300 * " ")


def _texts(parts: Sequence[str], n: int) -> list[str]:
    rng = random.Random(1)
    return ["".join(rng.choices(parts, k=rng.randrange(1, 20))) for _ in range(n)]


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    trained = Tokenizer.train([" ".join(PARTS)] * 3, 600, profile="huggingface", special_tokens=())
    found: dict[str, Any] = json.loads(trained.to_huggingface().to_str())
    return found


def _library(file: dict[str, Any], steps: list[dict[str, Any]]) -> Any:
    node = steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}
    return tokenizers.Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": node}))


@pytest.mark.long
@pytest.mark.parametrize("families", [name for name in _PUBLISHED if name not in _REFUSED])
def test_a_published_pre_tokenizer_splits_as_its_owner_does(families: str, file: dict[str, Any]) -> None:
    theirs = _library(file, _PUBLISHED[families])
    ours = Tokenizer.from_huggingface(theirs)
    again = ours.to_huggingface()
    assert Tokenizer.from_huggingface(again) == ours
    for number, text in enumerate(_texts(PARTS, 40)):
        ids = theirs.encode(text).ids
        assert ours.encode(text) == again.encode(text).ids == ids, text
        if not ours.normalizer:
            pieces = [from_alphabet(piece) for piece, _ in theirs.pre_tokenizer.pre_tokenize_str(text)]
            assert pretokenize(text, ours.pattern) == pieces, text
            assert number > 2 or reference_pretokenize(text, ours.pattern) == pieces, text


@pytest.mark.parametrize("families", _REFUSED)
def test_a_published_pre_tokenizer_that_loses_text_is_refused(families: str, file: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=_REFUSED[families]):
        Tokenizer.from_huggingface(_library(file, _PUBLISHED[families]))


def test_published_spellings_of_named_patterns_are_known_by_name(file: dict[str, Any]) -> None:
    known = {spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings}
    found = {
        families: known[pattern]
        for families, steps in _PUBLISHED.items()
        if families not in _REFUSED and (pattern := Tokenizer.from_huggingface(_library(file, steps)).pattern) in known
    }
    assert len(found) == 23
    for start, name in INPUTS["pattern_names"]:
        assert [found[families] for families in found if families.startswith(start)] == [name]


_SPACED = "1234567  \n\n x  \ny'll I'LL\t\t\r\n  \r\n\n 12 naïve  "


@pytest.mark.parametrize("pattern", [r"\S+|\s+", *chain(*SPELLINGS.values())])
def test_a_pattern_survives_bridges_and_splits_alike(pattern: Any) -> None:
    named = trained([(97, 98)], pattern=pattern, decode_errors="replace")
    if isinstance(pattern, str):
        bridged = tiktoken.from_tiktoken(tiktoken.to_tiktoken(named))
        assert bridged == named.replaced(pattern=named_of(pattern))
    theirs = huggingface.to_huggingface(named)
    # In that dialect `{1,3}+` repeats a group, which is spelt differently here.
    if "}+" not in pattern:
        assert huggingface.from_huggingface(theirs) == named
    pieces = [_SPACED[start:end].encode() for _, (start, end) in theirs.pre_tokenizer.pre_tokenize_str(_SPACED)]
    assert pretokenize(_SPACED, pattern) == pretokenize(_SPACED, huggingface.from_huggingface(theirs).pattern) == pieces


_FILE: Final = json.loads((TESTDATA / "configurations.json").read_text(encoding="utf-8"))
CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {case.pop("name"): case for case in _FILE["cases"]}
_DECODER: Final = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


@cache
def _trained() -> Tokenizer:
    text = "the cat ate 12 345 théâtre 東京 don't it's  \n\n  def f(x):\n    return x+1\n"
    return Tokenizer.train(
        [text] * 4 + ["ab ab  ab the 1999 2000 e\u0301"], 420, special_tokens=(), profile="huggingface"
    )


def published_file(name: str) -> dict[str, Any]:
    """Returns a tokenizer.json with a small vocabulary and the settings of a published one."""
    assert _trained().n_vocab == _FILE["n_vocab"], "the ids of added tokens follow it"
    file: dict[str, Any] = json.loads(_trained().to_huggingface().to_str())
    return {**file, **CONFIGURATIONS[name], "decoder": _DECODER}


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_ids_are_those_of_the_owner_before_and_after_saving(name: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    file = published_file(name)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    theirs = tokenizers.Tokenizer.from_file(str(path))
    ours = Tokenizer.load(path)
    assert ours == Tokenizer.from_huggingface(theirs)
    ours.save_pretrained(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").model == ours.model
    of_transformers = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    again, stand_in = ours.to_huggingface(), ours.as_huggingface()
    literals = [entry["content"] for entry in file["added_tokens"]]
    texts = [" ", "\n", *_texts([*PARTS[:-3], *literals, *literals], 98)]
    for text, other in zip(texts, texts[1:] + texts[:1], strict=True):
        ids = theirs.encode(text, add_special_tokens=False).ids
        around, pair = theirs.encode(text).ids, theirs.encode(text, other).ids
        assert ours.encode(text) == ids, (name, text)
        assert ours.encode(text, add_special_tokens=True) == around, (name, text)
        assert ours.encode(text, other, add_special_tokens=True) == pair, (name, text)
        assert (again.encode(text).ids, again.encode(text, other).ids) == (around, pair), (name, text)
        assert (stand_in.encode(text).ids, stand_in.encode(text, other).ids) == (around, pair), (name, text)
        assert of_transformers(text)["input_ids"] == around, (name, text)
        assert of_transformers(text, other)["input_ids"] == pair, (name, text)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False), (name, text)
        assert ours.decode(around, skip_special_tokens=True) == theirs.decode(around), (name, text)
