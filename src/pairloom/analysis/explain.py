"""Explains why two training runs learned different merges: the first difference, its counts, and the likely cause.

Training is repeated with one thing changed at a time (the tie rule, the normalizer, line ends, special tokens, the
pattern, limits of tokens and counts, document boundaries). The change that reproduces the most of the other tokenizer's
merges is reported as the cause. Cost: about ten training runs.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairloom import _core
from pairloom._internal.arguments import resolve_threads
from pairloom.analysis.render import shown_token
from pairloom.corpus import Corpus
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.model import DROP_STEP
from pairloom.patterns import pattern_name, pattern_text
from pairloom.tokenizer import Tokenizer, check_tokenizer
from pairloom.training import first_seen
from pairloom.training.config import N_BYTES, PROFILES, TrainingConfig
from pairloom.training.train import checked_texts, lay_out, rules

Pair = tuple[bytes, bytes]

_TIE_RULES: tuple[tuple[dict[str, str], str], ...] = (
    ({"tie_break": "ids_least", "byte_order": "value"}, "the least ids, bytes by value"),
    ({"tie_break": "ids_least", "byte_order": "gpt2"}, "the least ids, bytes in GPT-2's order (HuggingFace)"),
    ({"tie_break": "bytes_greatest"}, "the greatest bytes (CS336)"),
    ({"tie_break": "first_seen"}, "the first in the corpus (minbpe)"),
)


@dataclass(frozen=True)
class Explanation:
    """The first merge that differs, and why.

    cause: "none" (the merges are the same), "vocab_size" (one has more of the same), "tie", "normalizer", "line ends",
    "specials", "pattern", "max_token_bytes", "min_count", "documents", "corpus" (training on this corpus does not
    reproduce the first tokenizer's merges, or those that only the second one has) or "unknown". rank: the rank of the
    first merge that differs. mine, theirs: the parts of that merge in each tokenizer; None if it has no more merges.
    counts: how often each of the two pairs is adjacent before that merge, trained like the first tokenizer.
    n_explained: how many of the second one's merges training learns with the cause changed. reason: all this in
    sentences.
    """

    cause: str
    rank: int | None
    mine: Pair | None
    theirs: Pair | None
    counts: tuple[int | None, int | None]
    n_explained: int
    reason: str

    def __str__(self) -> str:
        return self.reason

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as JSON values, with bytes as lists of int."""
        pairs = {"mine": self.mine, "theirs": self.theirs}
        as_lists = {name: pair and [list(part) for part in pair] for name, pair in pairs.items()}
        return {**vars(self), **as_lists, "counts": list(self.counts)}


def explain_difference(
    mine: Tokenizer, theirs: Tokenizer, corpus: str | Iterable[str] | Corpus, *, threads: int = 0
) -> Explanation:
    """Explains why `theirs` learned other merges than `mine` from this corpus: a str, texts, or a `Corpus`.

    If pairloom trained `mine`, its recorded config is used; otherwise each profile is tried. Both are tried with the
    texts as they are and as `mine` normalises them. The corpus is held in memory. Raises ValueError for tokenizers that
    merge characters.
    """
    for name, tokenizer in (("mine", mine), ("theirs", theirs)):
        check_tokenizer(name, tokenizer).model.check_merges_bytes("explain_difference")
    texts = checked_texts(corpus)
    documents = list(texts if isinstance(texts, Corpus) else Corpus.of_texts(texts))
    merges = mine.merges, theirs.merges
    rank = _n_equal(*merges)
    pairs = [each[rank] if rank < len(each) else None for each in merges]
    if pairs == [None, None]:
        only_ids = "" if mine.vocab == theirs.vocab else "; only ids differ"
        return Explanation("none", None, None, None, (None, None), rank, f"all {rank} merges are the same{only_ids}")
    n_steps, threads = max(map(len, merges)), resolve_threads(threads)
    specials = list(dict.fromkeys(tuple(each.special_tokens) for each in (mine, theirs)))
    own: dict[str, Any] = {"pattern": mine.pattern, "special_tokens": specials[0]}
    configs = [mine.config] if mine.config else [replace(profile, **own) for profile in PROFILES.values()]
    # A file of schema 1 does not store corpus_specials.
    configs += [replace(config, corpus_specials="split") for config in configs]
    # Other libraries train on normalised texts if the tokenizer has a normalizer.
    corpora = {how: texts for each in (mine, theirs) for how, texts in _normalized(documents, each)}
    ways = [how for how, _ in _normalized(documents, mine)]
    trained = [(_learned(corpora[how], config, n_steps, threads), config, how) for config in configs for how in ways]
    learned, config, way = max(trained, key=lambda each: _n_equal(each[0], merges[0]))
    documents = corpora.pop(way)
    n_mine = _n_equal(learned, merges[0])
    counts: list[int | None] = [None, None]
    if n_mine >= rank:
        counts = list(_pair_counts(documents, config, learned[:rank], pairs, threads))

    def explained(cause: str, why: str, n_explained: int = rank) -> Explanation:
        parts = []
        for name, pair, count in zip(("first", "second"), pairs, counts, strict=True):
            has = "has no more" if pair is None else f"merges {' + '.join(map(shown_token, pair))}"
            times = "once" if count == 1 else f"{count} times"
            parts.append(f"the {name} tokenizer {has}" + ("" if count is None else f", which occurs {times}"))
        reason = f"merge {rank} differs: {'; '.join(parts)}. {why}"
        return Explanation(cause, rank, pairs[0], pairs[1], (counts[0], counts[1]), n_explained, reason)

    if n_mine < (len(merges[0]) if pairs[1] is None else min(rank + 1, len(merges[0]))):
        return explained(
            "corpus",
            f"From merge {n_mine} on, training on this corpus learns other merges than the first tokenizer has, so it "
            "was trained on another corpus, or with options that its file does not store",
        )
    every, longer = replace(config, min_frequency=1), max(merges, key=len)
    if None in pairs and _n_equal(_learned(documents, every, n_steps, threads), longer) == len(longer):
        n_more = abs(len(merges[0]) - len(merges[1]))
        is_theirs = any(len(each) == n_more for each in specials)
        why = f"the difference is {n_more} merge{'s' * (n_more != 1)}" + (
            ", as many as there are special tokens" if is_theirs else ""
        )
        count = counts[0] or counts[1] or 0
        last = next(_pair_counts(documents, config, learned[: rank - 1], [merges[0][rank - 1]], threads)) if rank else 0
        if count < (last or 0):
            why += f"; or min_frequency={count + 1} skipped the rarer pairs"
        return explained("vocab_size", f"All others are the same, so vocab_size was counted differently: {why}")
    best, cause, why = 0, "unknown", "No single change of training gives the second tokenizer's merge"
    if pairs[0] is None:
        cause, why = "corpus", "Training on this corpus does not learn the second one's further merges"
    for what, how, changed, texts in _changes(config, theirs, documents, specials, corpora):
        n_equal = _n_equal(_learned(texts, changed, n_steps, threads), merges[1])
        if n_equal > max(best, rank):
            best, cause = n_equal, what
            rest = ", so something else differs, too" * (n_equal < len(merges[1]))
            why = f"{how}, training learns {n_equal} of the {len(merges[1])} merges of the second one{rest}"
    if cause == "unknown" and counts[0] == counts[1]:
        cause, why = "tie", "Both occur equally often, and no tie rule that pairloom knows chooses the second one's"
    return explained(cause, why, max(best, rank))


def _normalized(documents: list[str], tokenizer: Tokenizer) -> Iterator[tuple[str, list[str]]]:
    """Yields (how, texts) for the texts as they are, and as the tokenizer normalises them."""
    yield "as they are", documents
    if steps := [step for step in tokenizer.model.normalizer if step != DROP_STEP]:
        yield f"after {', '.join(steps)}", _core.normalized(documents, steps)


def _changes(
    config: TrainingConfig,
    theirs: Tokenizer,
    documents: list[str],
    specials: list[tuple[str, ...]],
    normalized: dict[str, list[str]],
) -> Iterator[tuple[str, str, TrainingConfig, Sequence[str]]]:
    """Yields (cause, description of the change, config, documents) for each training run to try."""
    for fields, how in _TIE_RULES:
        changed = replace(config, **fields)  # type: ignore[arg-type]
        if changed != config:
            yield "tie", f"A tie: with the rule that takes {how}", changed, documents
    for how, texts in normalized.items():
        if texts != documents:
            yield "normalizer", f"The normalizer: with texts {how}", config, texts
    ends: dict[str, Callable[[str], str]] = {
        "CRLF read as LF": lambda text: text.replace("\r\n", "\n"),
        "CRLF and CR read as LF": lambda text: text.replace("\r\n", "\n").replace("\r", "\n"),
        "LF read as CRLF": lambda text: text.replace("\n", "\r\n"),
    }
    for how, converted in ends.items():
        if (texts := [converted(text) for text in documents]) != documents:
            yield "line ends", f"Line endings: with {how}", config, texts
    own = set(config.special_tokens) if config.corpus_specials == "split" else set()
    for literals in dict.fromkeys([(), *specials, tuple(dict.fromkeys(token for each in specials for token in each))]):
        # Skip changes of literals that do not occur in the corpus.
        if any(literal in text for literal in own ^ set(literals) for text in documents):
            split = replace(config, special_tokens=literals, corpus_specials="split")
            how = f"split on {', '.join(literals)}" if literals else "treated as text"
            yield "specials", f"Special tokens in the corpus: with them {how}", split, documents
    pattern = theirs.pattern
    if pattern_text(pattern) != pattern_text(config.pattern):
        name = pattern_name(pattern) or pattern
        yield "pattern", f"Another pattern: with {name}", replace(config, pattern=pattern), documents
    longest = max((len(left + right) for left, right in theirs.merges), default=1)
    if longest != config.max_token_bytes:
        yield "max_token_bytes", f"With max_token_bytes={longest}", replace(config, max_token_bytes=longest), documents
    least = theirs.config.min_count if theirs.config else 1
    if least != config.min_count:
        yield "min_count", f"With min_count={least}", replace(config, min_count=least), documents
    # As files are read: str.splitlines would also split at U+2028, form feeds and others.
    lines = [line for text in documents for line in io.StringIO(text, newline="\n")]
    for how, texts in {
        "with all documents joined": ["".join(documents)],
        "with all documents joined by a line ending": ["\n".join(documents)],
        "with each line a document": lines,
        "with each line a document, without its line ending": [line.rstrip("\r\n") for line in lines],
    }.items():
        if texts != documents:
            yield "documents", f"Document boundaries: {how}", config, texts


def _counts(documents: Sequence[str], config: TrainingConfig, threads: int) -> PretokenCounts:
    # Without "split", pass none: from_texts would warn about special tokens in the text.
    specials = config.special_tokens if config.corpus_specials == "split" else ()
    counts = PretokenCounts.from_texts(
        documents, config.pattern, special_tokens=specials, corpus_specials=config.corpus_specials, threads=threads
    )
    return counts.pruned(config.min_count) if config.min_count > 1 else counts


def _learned(documents: Sequence[str], config: TrainingConfig, n_merges: int, threads: int) -> list[Pair]:
    """Returns the first merges that training learns, without warnings."""
    if config.tie_break == first_seen.FIRST_SEEN:
        specials = config.special_tokens if config.corpus_specials == "split" else ()
        counts = first_seen.ordered_counts(documents, replace(config, special_tokens=specials))
        pairs, _ = first_seen.learn(counts, n_merges, config, None)
    else:
        pairs, *_ = _core.train(
            _counts(documents, config, threads).columns, rules(config, n_merges, threads=threads), None
        )
    tokens, merges = [bytes([byte]) for byte in range(N_BYTES)], []
    for left, right in pairs.tolist():
        merges.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    return merges


def _n_equal(left: Sequence[Pair], right: Sequence[Pair]) -> int:
    """Returns the number of merges that both have in common at the beginning."""
    return next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _pair_counts(
    documents: Sequence[str], config: TrainingConfig, merges: list[Pair], pairs: list[Pair | None], threads: int
) -> Iterator[int | None]:
    """Yields how often each pair is adjacent in the corpus after these merges."""
    id_of = {bytes([byte]): byte for byte in range(N_BYTES)}
    for left, right in merges:
        id_of[left + right] = len(id_of)
    rows = np.array([(id_of[left], id_of[right]) for left, right in merges], dtype=np.uint32)
    neutral = replace(config, special_tokens=(), special_ids="last", byte_order="value")
    so_far = Tokenizer.from_model(lay_out(rows, neutral))
    counts = _counts(documents, config, threads)
    ids, ends, times = _core.encode_counts(counts.columns, so_far._core, threads=threads, report=None)
    # Each id's weight is its pretoken's count, but 0 for the last id, whose neighbour is in the next pretoken.
    weights = np.repeat(times, np.diff(ends, prepend=np.uint64(0)).astype(np.int64))
    weights[ends.astype(np.int64) - 1] = 0
    for pair in pairs:
        if pair is None or not {*pair} <= id_of.keys():
            yield None if pair is None else 0
            continue
        is_pair = (ids[:-1] == id_of[pair[0]]) & (ids[1:] == id_of[pair[1]])
        yield int(weights[:-1][is_pair].sum())
