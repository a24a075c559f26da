"""pairloom.dropin.tokenizers: it learns what the reference defines, and refuses what it does not support."""

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import pairloom.dropin.tokenizers as tokenizers
from pairloom.dropin.tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from pairloom.errors import CorpusError, FormatError
from pairloom.reference.alphabet import train_over_alphabet

from .tokenizers_cases import case_of, words_of

TEXT: Any = "{}"


@pytest.mark.parametrize("seed", range(60))
def test_trainings_equal_the_reference(seed: int) -> None:
    case = case_of(seed)
    rng = random.Random(seed)
    # Random in the library, but defined in the reference.
    if rng.random() < 0.4:
        case.options["limit_alphabet"] = rng.choice([0, 3, 10, 30])
    if rng.random() < 0.4:
        case.options["continuing_subword_prefix"] = rng.choice(["##", "@"])
    if rng.random() < 0.4:
        case.options["end_of_word_suffix"] = rng.choice(["</w>", "@"])
    trained = json.loads(case.trained(tokenizers))["model"]
    options = {name: value for name, value in case.options.items() if name != "vocab_size"}
    if "initial_alphabet" in options:
        options["initial_alphabet"] = [text[0] for text in options["initial_alphabet"]]
    for ours, theirs in (("continuing_subword_prefix", "prefix"), ("end_of_word_suffix", "suffix")):
        if ours in options:
            options[theirs] = options.pop(ours)
    vocab, merges = train_over_alphabet(words_of(case), case.options["vocab_size"], **options)
    assert list(trained["vocab"].items()) == list(vocab.items())
    assert trained["merges"] == [list(pair) for pair in merges]


def learned(texts: Any, *, added: Any = (), unk: str | None = None, **how: Any) -> Tokenizer:
    """Trains a tokenizer with these added tokens, this unk_token, and the given parts and options of training."""
    made = Tokenizer(models.BPE(unk_token=unk))
    for part in ("pre_tokenizer", "normalizer"):
        if part in how:
            setattr(made, part, how.pop(part))
    made.add_tokens(added)
    made.train_from_iterator(texts, trainers.BpeTrainer(show_progress=False, **how))
    return made


def test_lines_of_files_are_texts_of_their_own(tmp_path: Path) -> None:
    content = "ab\r\ncd\n\n  ef\rgh\nlast"
    (tmp_path / "corpus.jsonl").write_bytes(content.encode())
    made = Tokenizer(models.BPE())
    made.train([str(tmp_path / "corpus.jsonl")], trainers.BpeTrainer(show_progress=False))
    assert made.to_str() == learned(["ab\r\n", "cd\n", "\n", "  ef\rgh\n", "last"]).to_str()
    assert "h\n" in made.get_vocab()


def test_a_file_that_is_not_utf8_is_named_with_its_byte(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"good\nb\xe4d\n")
    with pytest.raises(CorpusError, match=r"latin: invalid UTF-8 at byte 6.* or train_from_iterator\(open\(path"):
        Tokenizer(models.BPE()).train([str(tmp_path / "latin")], trainers.BpeTrainer(show_progress=False))
    with pytest.raises(FileNotFoundError):
        Tokenizer(models.BPE()).train([str(tmp_path / "absent")])
    with pytest.raises(TypeError, match="list of paths"):
        Tokenizer(models.BPE()).train(str(tmp_path / "latin"))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (tokenizers, "CharBPETokenizer"),
        (models, "WordPiece"),
        (trainers, "UnigramTrainer"),
        (pre_tokenizers, "CharDelimiterSplit"),
        (normalizers, "BertNormalizer"),
        (decoders, "CTC"),
    ],
)
def test_what_is_not_taken_is_refused_when_it_is_used(module: Any, name: str) -> None:
    refused = getattr(module, name)
    assert not isinstance(models.BPE(), refused)
    with pytest.raises(NotImplementedError, match=rf"^{name} is not supported, .*; use the library tokenizers"):
        refused(1, unk_token="[UNK]")


def test_steps_written_in_python_are_refused() -> None:
    for part in (pre_tokenizers.PreTokenizer, normalizers.Normalizer, decoders.Decoder):
        with pytest.raises(NotImplementedError, match="a step written in Python is not supported; use the library"):
            part.custom(object())
    assert models.BPE().get_trainer().vocab_size == 30000


def test_lookups_follow_every_change() -> None:
    tokenizer = learned(["a"])
    assert (tokenizer.id_to_token(0), tokenizer.get_vocab_size()) == ("a", 1)
    tokenizer.add_tokens(["Word"])
    assert (tokenizer.token_to_id("Word"), tokenizer.id_to_token(1), tokenizer.get_vocab_size()) == (1, "Word", 2)
    tokenizer.normalizer = normalizers.Lowercase()
    assert (tokenizer.id_to_token(1), tokenizer.decode([1])) == ("word", "word")
    tokenizer.model = models.BPE({"x": 3}, [])
    assert (tokenizer.token_to_id("a"), tokenizer.token_to_id("x")) == (None, 3)


UNTRAINED: Any = Tokenizer(models.BPE())
WITH_B = ["xab abx ab a ba"] * 3
SPLIT: dict[str, Any] = {"pre_tokenizer": pre_tokenizers.WhitespaceSplit()}
# With "first", only the piece at the start of a text gets a space; counts do not say which pieces start a text.
FIRST = pre_tokenizers.Metaspace(prepend_scheme="first")
AFTER_DIGITS = pre_tokenizers.Sequence([pre_tokenizers.Digits(), FIRST])
STRIPPING = normalizers.Sequence([normalizers.NFC(), normalizers.Strip()])
JOINING = normalizers.Replace("ab", "x")


def encoded_after_training(text: str, normalizer: normalizers.Normalizer) -> Any:
    tokenizer = learned(["ab a"], pre_tokenizer=FIRST)
    tokenizer.normalizer = normalizer
    return tokenizer.encode(text)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: setattr(models.BPE(), "foo", 1), AttributeError, "no setting 'foo'"),
        (lambda: setattr(Tokenizer(models.BPE()), "foo", 1), AttributeError, "no setting 'foo'"),
        (lambda: setattr(Tokenizer(models.BPE()), "decoder", "x"), TypeError, "decoder must be from pairloom"),
        (lambda: normalizers.Strip(left=TEXT), TypeError, "left must be True or False"),
        (lambda: decoders.Strip(" ", TEXT), TypeError, "left must be an int"),
        (lambda: decoders.ByteLevel().decode("abc"), TypeError, "tokens must be an iterable of str"),
        (lambda: Tokenizer.from_buffer(TEXT), TypeError, "buffer must be bytes, not str; from_str takes a str"),
        (lambda: pre_tokenizers.Split(Regex("a*"), "isolated"), ValueError, "can match nothing"),
        (lambda: pre_tokenizers.Split("a", "kept"), ValueError, "behavior must be one of"),
        (lambda: processors.TemplateProcessing("[CLS] $A"), ValueError, r"lacks '\[CLS\]'"),
        (
            lambda: processors.TemplateProcessing("[A] $A", special_tokens=[("[A]", trained().token_to_id("[A]"))]),
            TypeError,
            r"pairs of a token and its id, not \('\[A\]', None\)",
        ),
        (lambda: learned("a text"), TypeError, "iterable of str, not str; wrap a single text in a list"),
        (lambda: learned([None]), TypeError, "a text must be a str, not NoneType$"),
        (lambda: learned([b"bytes"]), TypeError, "decode it first"),
        (lambda: learned([{"text": "a"}]), TypeError, "pass its text"),
        (lambda: learned([["a", 1]]), TypeError, "not int"),
        (lambda: learned(WITH_B, **SPLIT, continuing_subword_prefix="b"), ValueError, "prefix or suffix as text"),
        (lambda: learned(WITH_B, **SPLIT, end_of_word_suffix="b"), ValueError, "prefix or suffix as text"),
        (lambda: learned(["a b"], added=["word"]), ValueError, "added tokens, whose ids training would change"),
        (lambda: learned(["a"], pre_tokenizer=AFTER_DIGITS), ValueError, "after a step that splits, drops"),
        (lambda: learned(["a"], pre_tokenizer=FIRST, normalizer=STRIPPING), ValueError, "a step that splits, drops"),
        (lambda: learned(["a"], pre_tokenizer=FIRST, normalizer=JOINING), ValueError, "a step that splits, drops"),
        (lambda: encoded_after_training(" ab", STRIPPING), FormatError, "drops or replaces the start"),
        (lambda: encoded_after_training("ab", JOINING), FormatError, "drops or replaces the start"),
        (lambda: learned(["word"], unk="[UNK]").encode("zzz"), ValueError, "'z' is unknown, .*; train with it"),
        (lambda: trained().encode_batch("ab"), TypeError, ""),
        (lambda: trained().encode_batch_fast("ab"), TypeError, ""),
        (lambda: UNTRAINED.decode("ab"), TypeError, ""),
        (lambda: UNTRAINED.id_to_token("ab"), TypeError, ""),
        (lambda: trained().id_to_token(-1), OverflowError, ""),
        (lambda: UNTRAINED.decode([-1]), OverflowError, ""),
    ],
)
def test_unknown_arguments_and_settings_are_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_normalizers_have_the_unicode_that_they_name() -> None:
    # Characters and a combining mark of Unicode 16, which few Python releases know; forms are those of 9.0.
    assert normalizers.Lowercase().normalize_str("\u1c89\ua7cb\u03a3") == "\u1c8a\u0264\u03c3"
    assert normalizers.NFD().normalize_str("\U000105c9") == "\U000105c9"
    assert normalizers.StripAccents().normalize_str("a\u0897b") == "ab"


def test_texts_with_added_tokens_fail_in_a_second_training() -> None:
    made = trained()
    trainer = trainers.BpeTrainer(special_tokens=["<|endoftext|>"], show_progress=False)
    made.train_from_iterator(["the mat"], trainer)
    with pytest.raises(ValueError, match=r"may contain '<\|endoftext\|>', .* train a new Tokenizer"):
        made.train_from_iterator(["the mat", "a<|endoftext|>b"], trainer)
    trainer.special_tokens = [AddedToken("The", normalized=True)]
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.Lowercase()
    made.train_from_iterator(["the mat"], trainer)
    with pytest.raises(ValueError, match="already an added token"):
        made.train_from_iterator(["the mat"], trainer)


def test_settings_that_are_changed_later_are_checked() -> None:
    trainer = trainers.BpeTrainer(show_progress=False)
    trainer.special_tokens = "<s>"
    with pytest.raises(TypeError, match="special_tokens must be a list"):
        Tokenizer(models.BPE()).train_from_iterator(["a"], trainer)
    template = processors.TemplateProcessing("<s> $A", "<s> $A $B", [("<s>", 0)])
    part: Any
    for part, name, value, error in (
        (pre_tokenizers.ByteLevel(), "add_prefix_space", "yes", TypeError),
        (pre_tokenizers.Metaspace(), "replacement", "ab", ValueError),
        (pre_tokenizers.Split("a", "isolated"), "behavior", "kept", ValueError),
        (models.BPE(), "unk_token", 5, TypeError),
        (models.BPE(), "dropout", 2, ValueError),
        (template, "single", "[X] $A", ValueError),
        (normalizers.Sequence([]), "normalizers", [decoders.Fuse()], TypeError),
    ):
        before = part.node()
        with pytest.raises(error):
            setattr(part, name, value)
        assert part.node() == before
    template.single = "$A <s>"  # type: ignore[assignment]
    assert template.single[1] == {"SpecialToken": {"id": "<s>", "type_id": 0}}


def trained() -> Tokenizer:
    options: dict[str, Any] = {"vocab_size": 300, "special_tokens": ["<|endoftext|>"]}
    options |= {"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=False)}
    options |= {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
    made = learned(["the cat sat on the mat"] * 5, **options)
    made.decoder = decoders.ByteLevel()
    return made


def test_a_change_of_a_part_changes_the_encoding() -> None:
    made = trained()
    assert made.encode("the cat").tokens == ["the", "Ġcat"]
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.pre_tokenizer.add_prefix_space = True
    assert made.encode("the cat").tokens == ["Ġthe", "Ġcat"]
    made.add_tokens([AddedToken("cat")])
    assert made.encode("the cat").tokens == ["Ġthe", "Ġ", "cat"]
    template = processors.TemplateProcessing(single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)])
    made.post_processor = template
    assert made.encode("the").tokens == ["<|endoftext|>", "Ġthe"]


def test_an_encoding_keeps_its_tokens_if_the_tokenizer_is_trained() -> None:
    for part in (pre_tokenizers.ByteLevel(), pre_tokenizers.Whitespace()):
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = part
        found = []
        for size in (300, 8):
            made.train_from_iterator(
                ["low lower lowest"] * 9, trainers.BpeTrainer(vocab_size=size, show_progress=False)
            )
            found.append(made.encode("lower"))
        assert len(found[0].tokens) == 1 < len(found[1].tokens)


def test_files_are_read_to_the_same_tokenizer(tmp_path: Path) -> None:
    made = trained()
    made.enable_padding(pad_id=3, length=8)
    made.enable_truncation(7, stride=2)
    made.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(" {2,}"), " ")])
    made.save(str(tmp_path / "tokenizer.json"))
    text = made.to_str()
    for again in (
        Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
        Tokenizer.from_str(text),
        Tokenizer.from_buffer(text.encode()),
        pickle.loads(pickle.dumps(made)),
    ):
        assert again.to_str() == text
        assert again.padding == made.padding and again.truncation == made.truncation


def test_a_repository_is_read_as_its_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained().save(str(tmp_path / "tokenizer.json"))
    asked: list[Any] = []

    def fetched(*repository: str, **named: Any) -> str:
        asked.append((repository, named))
        return str(tmp_path / "tokenizer.json")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fetched)
    assert Tokenizer.from_pretrained("a/b", "v1", token="t").to_str() == trained().to_str()
    assert asked == [(("a/b", "tokenizer.json"), {"revision": "v1", "token": "t"})]
