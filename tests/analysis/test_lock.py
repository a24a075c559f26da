"""`lock` and `changes`: find the ids that an upgrade changes, and name the class of texts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pairloom import FormatError, Tokenizer
from pairloom.analysis.compare import side_of
from pairloom.analysis.lock import _TEXTS, changes, lock
from pairloom.model import canonical_json

CORPUS = [text for name, texts in _TEXTS.items() for text in texts if name != "long runs"] * 2
CORPUS += [Path(__file__).read_text(encoding="utf-8")]
TOKENIZER = Tokenizer.train(CORPUS, 700, special_tokens=["<s>", "<|turn|>"], pattern="cl100k")
Change = Callable[[Tokenizer], Tokenizer]


def with_pattern(pattern: str) -> Change:
    return lambda tokenizer: Tokenizer.from_model(tokenizer.model.replaced(pattern=pattern))


def normalised(form: str) -> Change:
    return lambda tokenizer: tokenizer.with_normalizer(form)


def renamed(tokenizer: Tokenizer) -> Tokenizer:
    specials = {literal.replace("turn", "role"): token_id for literal, token_id in tokenizer.special_tokens.items()}
    return Tokenizer.from_model(tokenizer.model.replaced(special_tokens=specials))


def tokens_swapped(tokenizer: Tokenizer) -> Tokenizer:
    """Swaps the ids of the last two tokens."""
    last = {len(tokenizer.merges) + 255: -1, len(tokenizer.merges) + 254: 1}
    vocab = {token_id + last.get(token_id, 0): token for token_id, token in tokenizer.vocab.items()}
    return Tokenizer(vocab, tokenizer.merges, tokenizer.special_tokens, pattern=tokenizer.pattern)


def as_words(tokenizer: Tokenizer) -> Tokenizer:
    return Tokenizer.from_model(tokenizer.model.replaced(special_rules=(("<s>", "single_word"),)))


def with_bos(tokenizer: Tokenizer) -> Tokenizer:
    bos = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    around: dict[str, object] = {"single": [bos, a], "pair": [bos, a, b], "type": "TemplateProcessing"}
    around["special_tokens"] = {"<s>": {"id": "<s>", "ids": [tokenizer.special_tokens["<s>"]], "tokens": ["<s>"]}}
    return Tokenizer.from_model(tokenizer.model.replaced(post_processor=canonical_json(around)))


def merges_swapped(at: int) -> Change:
    def changed(tokenizer: Tokenizer) -> Tokenizer:
        vocab, merges = tokenizer.vocab, list(tokenizer.merges)
        merges[0], merges[at] = merges[at], merges[0]
        return Tokenizer(vocab, merges, tokenizer.special_tokens, pattern=tokenizer.pattern)

    return changed


LETTERS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?"
OLD = r"[\p{L}&&[^\u{1C89}\u{2EBF0}-\u{2EE5D}\u{105C0}-\u{105FF}]]"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PLANTED: list[tuple[str, Change, str]] = [
    *((form, normalised(form), "normal forms") for form in ("nfc", "nfd", "nfkc", "nfkd")),
    ("space", lambda tokenizer: tokenizer.with_normalizer("prefix_space"), "English"),
    ("special", lambda tokenizer: tokenizer.add_special_tokens(["</s>"]), "tokens that look special"),
    ("literal", lambda tokenizer: tokenizer.add_special_tokens(["<unk>", "[MASK]"]), "tokens that look special"),
    ("word", lambda tokenizer: tokenizer.add_special_tokens(["lazy"]), "English"),
    ("renamed", renamed, "own tokens"),
    ("swapped", tokens_swapped, "own tokens"),
    ("single word", as_words, "own tokens in a word"),
    ("bos", with_bos, "special tokens added"),
    ("digits", with_pattern(LETTERS + r"\p{L}+|\p{N}|" + REST), "digits"),
    ("two digits", with_pattern(LETTERS + r"\p{L}+|\p{N}{1,2}|" + REST), "digits"),
    ("gpt2", with_pattern("gpt2"), "white space"),
    ("o200k", with_pattern("o200k"), "code"),
    ("unicode", with_pattern(LETTERS + OLD + r"+|\p{N}{1,3}|" + REST), "young characters"),
    *((f"merges {at}", merges_swapped(at), "own tokens") for at in (30, 80, 150, 300)),
    ("fewer", lambda tokenizer: tokenizer.truncate_vocab(690, keep_ids=False), "n_vocab"),
    ("more", lambda tokenizer: tokenizer.extend(["zqzqzq zqzq"], 705), "n_vocab"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED])
@pytest.mark.filterwarnings("ignore")
def test_planted_changes_are_found_with_their_class(change: Change, kind: str) -> None:
    before = lock(side_of(TOKENIZER, "before"))
    assert changes(side_of(TOKENIZER, "same"), before) == []
    found = changes(side_of(change(TOKENIZER), "after"), before)
    assert any(line.startswith(f"{kind}: ") for line in found), found


def test_a_lock_of_another_format_or_library_is_the_same(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "tokenizer.json", format="huggingface")
    assert changes(side_of(Tokenizer.load(tmp_path), "file"), lock(side_of(TOKENIZER, "ours"))) == []
    from pairloom.analysis.compare import load_side

    assert changes(load_side(f"hf:{tmp_path}"), lock(side_of(TOKENIZER, "ours"))) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "", "line 1 is ''"),
        (lambda text: text.replace("lock 1", "lock 2"), "line 1 is 'pairloom-lock 2'"),
        (lambda text: text.replace("digits ", "digit "), "digits has 0 digests, not 2"),
        (lambda text: text[: text.rindex(" ")], "own tokens in a word has 7 digests, not 8"),
        (lambda text: text + "klingon 00\n", "a class 'klingon' that is unknown"),
        (lambda text: text.replace("digits ", "digits 00000000 "), "digits has 3 digests, not 2"),
    ],
)
def test_what_is_no_lock_is_refused(damage: Callable[[str], str], message: str) -> None:
    side = side_of(TOKENIZER, "mine")
    with pytest.raises(FormatError, match=message):
        changes(side, damage(lock(side)))
