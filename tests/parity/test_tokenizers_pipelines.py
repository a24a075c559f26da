"""Tokenizers of random steps: pairloom.dropin.tokenizers trains, encodes and decodes as the library does."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers as theirs

import pairloom.dropin.tokenizers as ours

TEXTS = [
    "import os\n\n\ndef main(argv):\n\tfor i in range(10):\n\t\tprint(i)  # comment\n    return 0\n",
    "*CHI:\twant more juice .\r\n*MOT:\tyou'd like some more juice?  Let's see…\r\n",
    "ﬁnd naïve façade, 12345 Größen, 漢字とかな, кошка и собака — “quoted” 😁\n",
    " leading and trailing  ",
    "",
    "\u3000wide\u00a0space\u200bzero e\u0301 ÅÅ Ⅷ ½ ²",
    "<s>text</s> [CLS] [UNK] Once upon a time",
]
UNSEEN = ["the 'cat' é☃ <s>кошка\u3000[SEP] 猫们 zz", "\r\n\r\nA-Bc  12"]
Steps = list[Callable[[Any], Any]]
NORMALIZERS: Steps = [
    lambda m: m.normalizers.NFC(),
    lambda m: m.normalizers.NFKC(),
    lambda m: m.normalizers.Lowercase(),
    lambda m: m.normalizers.Strip(),
    lambda m: m.normalizers.Replace(m.Regex(r"\s+"), " "),
    lambda m: m.normalizers.Sequence([m.normalizers.NFD(), m.normalizers.StripAccents()]),
    lambda m: m.normalizers.Prepend("x"),
    lambda m: m.normalizers.BertNormalizer(strip_accents=False),
]
PRE_TOKENIZERS: Steps = [
    lambda m: m.pre_tokenizers.Whitespace(),
    lambda m: m.pre_tokenizers.WhitespaceSplit(),
    lambda m: m.pre_tokenizers.BertPreTokenizer(),
    lambda m: m.pre_tokenizers.Digits(True),
    lambda m: m.pre_tokenizers.Punctuation("removed"),
    lambda m: m.pre_tokenizers.Metaspace(prepend_scheme="never"),
    lambda m: m.pre_tokenizers.ByteLevel(),
    lambda m: m.pre_tokenizers.ByteLevel(False, use_regex=False),
    lambda m: m.pre_tokenizers.Split(m.Regex(r"\p{L}+|\p{N}"), "isolated"),
    lambda m: m.pre_tokenizers.Split(m.Regex(r"[A-Z][a-z]*"), "removed", True),
    lambda m: m.pre_tokenizers.CharDelimiterSplit("e"),
]
DECODERS: Steps = [
    lambda m: None,
    lambda m: m.decoders.ByteLevel(),
    lambda m: m.decoders.BPEDecoder(),
    lambda m: m.decoders.Metaspace(),
    lambda m: m.decoders.Sequence([m.decoders.Replace("Ġ", " "), m.decoders.Strip(" ", 1, 0)]),
]


def answers(m: Any, seed: int) -> list[Any]:
    """What a library makes of the tokenizer of a seed."""
    rng = random.Random(seed)
    made = m.Tokenizer(m.models.BPE(unk_token="[UNK]", fuse_unk=rng.random() < 0.3))
    made.normalizer = m.normalizers.Sequence([step(m) for step in rng.sample(NORMALIZERS, rng.choice([0, 1, 3]))])
    steps = [step(m) for step in rng.sample(PRE_TOKENIZERS, rng.choice([1, 1, 2, 3]))]
    made.pre_tokenizer = m.pre_tokenizers.Sequence(steps)
    made.decoder = rng.choice(DECODERS)(m)
    options: dict[str, Any] = {"vocab_size": rng.choice([60, 200, 500]), "min_frequency": rng.choice([0, 2])}
    if rng.random() < 0.3:
        options["max_token_length"] = rng.choice([2, 4, 8])
    if rng.random() < 0.3:
        options["initial_alphabet"] = rng.choice([m.pre_tokenizers.ByteLevel.alphabet(), ["xyz", "☃"]])
    trainer = m.trainers.BpeTrainer(special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False, **options)
    made.train_from_iterator(TEXTS * 2, trainer)
    if rng.random() < 0.5:
        made.post_processor = m.processors.TemplateProcessing(
            "[CLS] $A", "[CLS] $A [SEP] $B:1", [("[CLS]", 1), ("[SEP]", 2)]
        )
    found: list[Any] = [made.to_str()]
    for encoding in made.encode_batch([*TEXTS, *UNSEEN, (TEXTS[0], UNSEEN[0])]):
        found += [encoding.ids, encoding.tokens, encoding.type_ids, encoding.special_tokens_mask]
        found += [made.decode(encoding.ids, skip_special_tokens=skips) for skips in (True, False)]
    if not made.normalizer:
        found += [(each.offsets, each.word_ids) for each in made.encode_batch([*TEXTS, *UNSEEN])]
    return found


@pytest.mark.parametrize("seed", range(25))
def test_pipelines_of_random_steps_are_the_same(seed: int) -> None:
    assert answers(ours, seed) == answers(theirs, seed)


@pytest.mark.slow
def test_pipelines_of_a_thousand_seeds_are_the_same() -> None:
    for seed in range(25, 1000):
        assert answers(ours, seed) == answers(theirs, seed), seed
