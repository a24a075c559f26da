"""Seeded trainings that run on pairloom.dropin.tokenizers, on the library and on the reference."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pairloom.dropin.tokenizers as tokenizers
from pairloom.dropin.tokenizers.pre_tokenizers import cut
from tests.parity.texts import ALPHABETS

WORDS = {
    **ALPHABETS,
    "Greek": "η γάτα ΚΑΘΟΤΑΝ στο παράθυρο της γάτας ΟΔΟΣ",
    "code": "def f_1(x): return x+1 if x==10 else 0x1F # 12345 ¼ ① <s> </w> [UNK] ▁a the cat's hat ﾈｺ",
}
SEPARATORS = [" ", " ", " ", "  ", "\n", ", ", "\t", "\u3000", "\r\n", "\u00a0", "-"]


def corpus_of(rng: random.Random) -> list[str]:
    words = [word for language in rng.sample(sorted(WORDS), 3) for word in WORDS[language].split(" ")]
    weights = [rng.random() ** 3 + 0.01 for _ in words]
    texts = []
    for _ in range(rng.randrange(1, 9)):
        chosen = rng.choices(words, weights, k=rng.randrange(0, 60))
        text = "".join(word + rng.choice(SEPARATORS) for word in chosen)
        texts.append(rng.choice(["", "", " ", "▁"]) + text)
    return texts


Maker = Callable[[Any], Any]


def split(pattern: str, behavior: str, invert: bool) -> Maker:
    return lambda m: m.Split(m.Regex(pattern), behavior, invert)


PRE_TOKENIZERS: list[Maker] = [
    lambda m: m.ByteLevel(),
    lambda m: m.ByteLevel(add_prefix_space=False),
    lambda m: m.ByteLevel(add_prefix_space=False, use_regex=False),
    lambda m: m.Whitespace(),
    lambda m: m.WhitespaceSplit(),
    lambda m: m.BertPreTokenizer(),
    lambda m: m.Metaspace(),
    lambda m: m.Metaspace(prepend_scheme="never"),
    lambda m: m.Metaspace(split=False),
    lambda m: m.Split("-", "removed"),
    lambda m: m.Split(" ", "removed"),
    lambda m: m.Split(" ", "merged_with_next"),
    lambda m: m.Sequence([m.Whitespace(), m.Digits(individual_digits=True)]),
    lambda m: m.Sequence([m.Digits(), m.Punctuation(), m.Metaspace()]),
    lambda m: m.Sequence([m.Metaspace(), m.Digits(individual_digits=True), m.Punctuation("contiguous")]),
    lambda m: m.Sequence([m.Metaspace(), m.Whitespace()]),
    lambda m: m.Sequence([m.Metaspace(), m.Punctuation("removed"), m.Digits()]),
    lambda m: m.Sequence([m.Split("-", "removed"), m.Metaspace(prepend_scheme="never")]),
    lambda m: m.Sequence([m.Whitespace(), m.Metaspace()]),
    lambda m: m.Sequence([m.WhitespaceSplit(), m.Punctuation("removed"), m.ByteLevel()]),
    lambda m: m.Sequence([m.Whitespace(), m.ByteLevel(add_prefix_space=False)]),
    lambda m: m.Sequence([m.ByteLevel(add_prefix_space=False), m.Whitespace(), m.Digits()]),
    lambda m: m.Sequence([m.Digits(), m.ByteLevel(add_prefix_space=False)]),
    lambda m: m.Sequence([m.ByteLevel(add_prefix_space=False), m.Split(m.Regex(".{1,6}"), "isolated")]),
    lambda m: m.Sequence([m.Punctuation("merged_with_previous"), m.Digits(), m.ByteLevel(add_prefix_space=True)]),
    split(r"\s+", "removed", False),
    split(r"\w+|[^\w\s]+", "removed", True),
    split(r"\s+(?!\S)|\s+|[^\s]+", "removed", True),
    split(r"\s+(?!\S)|\s+|[^\s]+", "contiguous", True),
    split(r"\d{1,3}(?=(?:\d{3})*\b)", "isolated", False),
    split(r"\p{L}+", "contiguous", False),
    split(r" ?\p{L}+|\s(?=\S)", "removed", False),
    split(r"[a-z]+", "merged_with_previous", True),
]
"""What makes each, given the module pre_tokenizers and Regex."""

NORMALIZERS: list[Maker] = [
    lambda m: m.NFC(),
    lambda m: m.NFKC(),
    lambda m: m.Sequence([m.NFD(), m.Lowercase(), m.StripAccents()]),
    lambda m: m.Lowercase(),
    lambda m: m.Strip(right=False),
    lambda m: m.Sequence([m.Prepend("▁"), m.Replace(" ", "▁")]),
    lambda m: m.Sequence([m.NFKD(), m.Strip(), m.Replace("the", "t")]),
    lambda m: m.ByteLevel(),
    lambda m: m.Replace(m.Regex(r"\s+"), " "),
]


@dataclass
class Case:
    """One training, defined by its seed."""

    seed: int
    texts: list[str] = field(default_factory=list)
    pre_tokenizer: Maker | None = None
    normalizer: Maker | None = None
    model: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def tokenizer(self, library: Any) -> Any:
        """Returns the untrained tokenizer of `library`."""
        made = library.Tokenizer(library.models.BPE(**self.model))
        for name, maker in (("pre_tokenizer", self.pre_tokenizer), ("normalizer", self.normalizer)):
            if maker is not None:
                setattr(
                    made, name, maker(SimpleNamespace(**vars(getattr(library, f"{name}s")) | {"Regex": library.Regex}))
                )
        return made

    def trainer(self, library: Any) -> Any:
        return library.trainers.BpeTrainer(show_progress=False, **self.options)

    def trained(self, library: Any) -> str:
        made = self.tokenizer(library)
        made.train_from_iterator(self.texts, self.trainer(library))
        return str(made.to_str())


def words_of(case: Case) -> Counter[str]:
    """Returns the pieces of the corpus, text by text."""
    made = case.tokenizer(tokenizers)
    words: Counter[str] = Counter()
    for text in case.texts:
        changed = text if made.normalizer is None else made.normalizer.normalize_str(text)
        words.update(piece for piece, _ in cut(made.pre_tokenizer, changed))
    return words


def several(rng: random.Random, makers: list[Maker], weights: list[int]) -> Maker | None:
    """One step, or a sequence of a few; None for no step. weights: of 0 steps, 1, 2..."""
    [n] = rng.choices(range(len(weights)), weights)
    steps = rng.sample(makers, n)
    return (lambda m: m.Sequence([step(m) for step in steps])) if n > 1 else steps[0] if steps else None


def case_of(seed: int) -> Case:
    """Returns the case of a seed."""
    rng = random.Random(seed)
    case = Case(seed, corpus_of(rng))
    case.pre_tokenizer = several(rng, PRE_TOKENIZERS, [1, 20, 6, 3])
    case.normalizer = several(rng, NORMALIZERS, [6, 9, 2, 2])
    if rng.random() < 0.05:
        # With "first", some normalizers are refused.
        case.pre_tokenizer, case.normalizer = (lambda m: m.Metaspace("_", prepend_scheme="first")), None
    if rng.random() < 0.5:
        case.model["unk_token"] = "[UNK]"
        case.model["fuse_unk"] = rng.random() < 0.5
    if rng.random() < 0.2:
        case.model["byte_fallback"] = True
    options = case.options
    options["vocab_size"] = rng.choice([0, 20, 60, 150, 400, 30000])
    pool = ["[UNK]", "<s>", "<|endoftext|>", "the", "cat", "a", "▁", "▁the", "Ġ", "кошка", "猫"]
    options["special_tokens"] = rng.sample(pool, rng.choice([0, 1, 3, 6]))
    if rng.random() < 0.3:
        options["min_frequency"] = rng.choice([1, 2, 5])
    if rng.random() < 0.3:
        options["max_token_length"] = rng.choice([0, 2, 3, 4, 8])
    if rng.random() < 0.3:
        options["initial_alphabet"] = rng.choice(
            [["z", "é", "xyz"], [chr(0x100 + n) for n in range(0x44)], ["猫", "▁"]]
        )
    return case
