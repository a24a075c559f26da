"""The tokenizer.json that pairloom.dropin.tokenizers trains is the library's, byte for byte."""

import json
import random
from collections import Counter
from typing import Any

import pytest
import tokenizers as theirs

import pairloom.dropin.tokenizers as ours
from pairloom.dropin.tokenizers import training
from tests.dropin.tokenizers_cases import Case, Maker, case_of, words_of

DECODERS: list[Maker] = [
    lambda m: None,
    lambda m: m.ByteLevel(),
    lambda m: m.BPEDecoder(),
    lambda m: m.Metaspace(),
    lambda m: m.Sequence([m.Replace("Ġ", " "), m.Strip(" ", 0, 1)]),
    lambda m: m.Sequence([m.ByteLevel(), m.Strip(" ", 1, 0), m.Replace("\n ", "\n")]),
]


def check(case: Case) -> None:
    assert answers(ours, case) == answers(theirs, case), case.seed


def answers(m: Any, case: Case) -> list[Any]:
    """Returns a library's results for a case: the learned file, encodings, and their decoded texts."""
    rng = random.Random(case.seed)
    made = case.tokenizer(m)
    made.train_from_iterator(case.texts, case.trainer(m))
    # A special token that equals a byte's letter decodes to itself, not to the byte; no published file has one.
    makers = DECODERS[:1] if "Ġ" in case.options["special_tokens"] else DECODERS
    made.decoder = rng.choice(makers)(m.decoders)
    if rng.random() < 0.3:
        made.post_processor = m.processors.TemplateProcessing("<s> $A", "<s> $A [b] $B:1", [("<s>", 1), ("[b]", 2)])
    found: list[Any] = [made.to_str(), [(i, str(token)) for i, token in made.get_added_tokens_decoder().items()]]
    unknown = case.model.get("unk_token")
    if unknown is not None and made.token_to_id(unknown) is None:
        return found  # both refuse to encode unknown characters
    texts = [*case.texts[:2], "the cat é☃ <s>кошка\u3000<|endoftext|> 猫们 zz", "\r\n\r\nA-Bc  12", ""]
    for encoding in made.encode_batch([*texts, (texts[-2], texts[0])]):
        found += [encoding.ids, encoding.tokens, encoding.type_ids, encoding.special_tokens_mask]
        found += [made.decode(encoding.ids, skip_special_tokens=skips) for skips in (True, False)]
        # After a dropped letter, the library's spans are shifted.
        if case.normalizer is None and unknown is not None:
            found += [encoding.offsets, encoding.word_ids]
    return found


SLOW = [pytest.param(range(start, start + 100), marks=pytest.mark.slow) for start in range(40, 1040, 100)]


@pytest.mark.parametrize("seeds", [range(40), *SLOW], ids=str)
def test_trained_files_are_the_same(seeds: range) -> None:
    for seed in seeds:
        check(case_of(seed))


@pytest.mark.parametrize("seed", range(6))
def test_prefixes_and_suffixes_in_the_order_of_the_library(seed: int) -> None:
    # The library assigns ids to characters with a prefix or suffix in a different order on every run.
    case = case_of(seed)
    case.options |= [
        {"continuing_subword_prefix": "##"},
        {"end_of_word_suffix": "</w>"},
        {"continuing_subword_prefix": "@", "end_of_word_suffix": "</w>"},
    ][seed % 3]
    expected = json.loads(case.trained(theirs))["model"]
    made = case.tokenizer(ours)
    counts, plan = training.count(case.texts, made.normalizer, made.pre_tokenizer, False)
    order = expected["vocab"]
    training.train(counts, plan, case.trainer(ours), made.model, lambda texts: sorted(texts, key=order.__getitem__))
    assert json.loads(made.to_str())["model"] == expected


@pytest.mark.parametrize("seed", range(6))
def test_limit_alphabet_between_unequal_counts(seed: int) -> None:
    # Among equally rare characters, the library drops different ones on every run.
    case = case_of(seed)
    case.options.pop("initial_alphabet", None)
    letters: Counter[str] = Counter()
    for word, count in words_of(case).items():
        letters.update({letter: word.count(letter) * count for letter in set(word)})
    counts = sorted(letters.values(), reverse=True)
    limits = [at for at in range(1, len(counts)) if counts[at - 1] > counts[at]]
    case.options["limit_alphabet"] = random.Random(seed).choice(limits or [0])
    check(case)


def parts(m: Any) -> list[tuple[str, Any]]:
    """Returns components of every kind, by the attribute that holds them."""
    p, n, d, r = m.pre_tokenizers, m.normalizers, m.decoders, m.processors
    specials = [("[SEP]", 2), {"id": "[b]", "ids": [1, 2], "tokens": ["q", "w"]}, ("[CLS]", 1)]
    pair = "[CLS] $A $B $1 $0 $ $A:3 [b] $b:2 [SEP]:1"
    return [
        *(("pre_tokenizer", p.Split(" ", behavior)) for behavior in ("removed", "isolated", "merged_with_next")),
        ("pre_tokenizer", p.Split(m.Regex(r"\s+|\w+"), "merged_with_previous", invert=True)),
        ("pre_tokenizer", p.Sequence([p.Digits(True), p.Punctuation("contiguous"), p.Split("-", "removed")])),
        ("pre_tokenizer", p.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)),
        ("pre_tokenizer", p.Metaspace("_", "first", split=False)),
        ("pre_tokenizer", p.BertPreTokenizer()),
        ("normalizer", n.Sequence([n.NFC(), n.Strip(left=False), n.Replace(m.Regex("a+"), "b"), n.Prepend("x")])),
        ("normalizer", n.Sequence([n.Lowercase(), n.StripAccents(), n.ByteLevel()])),
        ("decoder", d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])),
        *(("decoder", decoder) for decoder in (d.ByteLevel(), d.Metaspace(), d.BPEDecoder(), d.BPEDecoder("x"))),
        ("post_processor", r.ByteLevel(trim_offsets=False)),
        ("post_processor", r.TemplateProcessing(single=["$A", "[SEP]:2"], pair=pair, special_tokens=specials)),
        ("post_processor", r.TemplateProcessing()),
        ("post_processor", r.Sequence([r.ByteLevel(), r.BertProcessing(("[SEP]", 2), ("[CLS]", 1))])),
        ("post_processor", r.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1), trim_offsets=False)),
    ]


def test_parts_are_written_and_applied_as_in_the_library() -> None:
    texts = ["Hello  wörld_1, it's 12 34—\u00a0x\n\n\ty  ", "  ▁lead 漢字 12.5-3", "", " ", "a"]
    for (name, mine), (_, other) in zip(parts(ours), parts(theirs), strict=True):
        files = []
        for library, part in ((ours, mine), (theirs, other)):
            made = library.Tokenizer(library.models.BPE(dropout=0.1, unk_token='é\n\x01\x7f"', byte_fallback=True))
            setattr(made, name, part)
            files.append((made.to_str(), made.to_str(pretty=True)))
        assert files[0] == files[1]
        assert ours.Tokenizer.from_str(files[1][0]).to_str() == files[1][0]
        if name == "post_processor":
            both = ([each.num_special_tokens_to_add(is_pair) for is_pair in (False, True)] for each in (mine, other))
            assert next(both) == next(both)
        for text in texts:
            if name == "pre_tokenizer":
                assert mine.pre_tokenize_str(text) == other.pre_tokenize_str(text), (mine, text)
            elif name == "normalizer":
                assert mine.normalize_str(text) == other.normalize_str(text)
