"""Counts pretokens and trains BPE on them as a BpeTrainer says; `pairloom.reference.alphabet` defines the result."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.arguments import check_path, check_texts, shown
from pairloom._internal.byte_alphabet import to_alphabet
from pairloom._internal.progress import reporter
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.dropin.tokenizers.components import AddedToken
from pairloom.dropin.tokenizers.models import BPE
from pairloom.dropin.tokenizers.normalizers import Normalizer, moves_start
from pairloom.dropin.tokenizers.pre_tokenizers import Metaspace, Plan, PreTokenizer, steps_of
from pairloom.dropin.tokenizers.trainers import BpeTrainer

_BLOCK_BYTES = 1 << 22
_LEFT_OUT_SYMBOL = 0xFFFFFFFF
_AT_START, _AT_END = 1, 2


class Lines:
    """The lines of files with their line ends; the library takes each line as a separate text."""

    def __init__(self, files: Iterable[Any]) -> None:
        self._files = [check_path("a path", path) for path in files]

    def __iter__(self) -> Iterator[str]:
        start = ""
        for block in self.documents():
            for text in block.texts():
                yield start + text
                start = ""
            start += block.open_text()

    def documents(self) -> Iterator[_core.Documents]:
        """Yields the lines as documents of the core. CorpusError, with file and byte, for malformed UTF-8."""
        for name in self._files:
            reader = _core.PlainText(str(name), separator="\n", replace=False, keeps_separator=True)
            with Path(name).open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    yield reader.push(block)
            yield reader.finish()


def texts_of(iterator: Iterable[Any]) -> Iterator[str]:
    """Yields the texts of an iterator of str, or of lists of str."""
    check_texts("iterator", iterator)
    for given in iterator:
        is_batch = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping))
        for text in given if is_batch else [given]:
            if not isinstance(text, str):
                remedy = "; decode it first" if isinstance(text, bytes) else ""
                remedy = '; pass its text: row["text"]' if isinstance(text, Mapping) else remedy
                raise TypeError(f"a text must be a str, not {type(text).__name__}{remedy}")
            yield text


def without(texts: Iterable[str], tokens: Iterable[AddedToken], are_normalized: bool) -> Iterator[str]:
    """Yields the texts; ValueError for a text that holds a token that was added before training."""
    # A normalized token can be found in a text that does not contain it literally, so it matches any text here.
    held = re.compile(
        "|".join("" if are_normalized and each.normalized else re.escape(each.content) for each in tokens)
    )
    for text in texts:
        if found := held.search(text):
            raise ValueError(
                f"a text may contain {shown(found[0])}, which is already an added token, so the library would split "
                "the text there; train a new Tokenizer, and add tokens afterwards"
            )
        yield text


def count(
    texts: Iterable[str], normalizer: Normalizer | None, pre_tokenizer: PreTokenizer | None, progress: bool
) -> tuple[PretokenCounts, Plan]:
    """Counts the pieces of texts. Also returns the plan that says how to read their characters."""
    plan = Plan.of(pre_tokenizer)
    for index, step in enumerate(steps_of(pre_tokenizer)):
        if isinstance(step, Metaspace) and step.prepend_scheme == "first" and (index or moves_start(normalizer)):
            raise ValueError(
                "Metaspace with prepend_scheme='first' after a step that splits, drops or replaces depends on the "
                "position of a piece, which counts do not keep; use 'always' or 'never'"
            )
    changed: Iterable[Any] = texts if normalizer is None else _normalized(iter(texts), normalizer)
    if changed is texts and isinstance(texts, Lines) and not plan.prefix:
        changed = texts.documents()
    if plan.prefix:
        changed = (text if not text or text.startswith(plan.starts) else plan.prefix + text for text in changed)
    counts = PretokenCounts.from_texts(changed, plan.pattern, progress=progress or None)
    if not plan.steps:
        return counts, plan
    totals: dict[str, int] = {}
    for piece, n in counts.items():
        text = to_alphabet(piece) if plan.are_bytes else piece.decode()
        for letter, other in plan.replacements.items():
            text = text.replace(letter, other)
        totals[text] = totals.get(text, 0) + n
    for step in plan.steps:
        found = step.of_pieces([(text, None) for text in totals])
        before, totals = list(totals.values()), {}
        for n, pieces in zip(before, found, strict=True):
            for text, _ in pieces:
                totals[text] = totals.get(text, 0) + n
    return PretokenCounts.from_items({text.encode(): n for text, n in totals.items()}, plan.pattern), Plan()


def _normalized(texts: Iterator[str], normalizer: Normalizer) -> Iterator[str]:
    """Yields the normalized texts, processed in batches."""
    while batch := list(itertools.islice(texts, 1000)):
        yield from normalizer.normalize_all(batch)


@dataclass(frozen=True)
class _Letter:
    """A letter of the alphabet: the units (bytes or code points) that it stands for, and its count at each place."""

    units: list[int]
    counts: list[int]


def _letters(counts: PretokenCounts, plan: Plan) -> dict[str, _Letter]:
    """Returns the letters of all pieces."""
    found: dict[str, _Letter] = {}
    for unit, n in _core.count_units(counts.columns, plan.are_bytes):
        text = to_alphabet(bytes([unit])) if plan.are_bytes else chr(unit)
        if text not in plan.left_out:
            letter = found.setdefault(plan.replacements.get(text, text), _Letter([], [0] * 4))
            letter.units.append(unit)
            letter.counts[:] = map(sum, zip(letter.counts, n, strict=True))
    return found


def _alphabet(letters: Mapping[str, _Letter], trainer: BpeTrainer) -> list[str]:
    """Returns the letters that become tokens, in the order of their ids."""
    n_of = {text: float(sum(letter.counts)) for text, letter in letters.items()}
    n_of |= dict.fromkeys(trainer.initial_alphabet, float("inf"))
    kept = sorted(n_of, key=lambda text: (-n_of[text], text))
    return sorted(kept if trainer.limit_alphabet is None else kept[: trainer.limit_alphabet])


def train(
    counts: PretokenCounts,
    plan: Plan,
    trainer: BpeTrainer,
    model: BPE,
    variants_in_order: Callable[[Iterable[str]], Iterable[str]] = sorted,
) -> None:
    """Learns `model`'s vocabulary and merges.

    variants_in_order: orders the letters with a prefix or suffix before they get ids. In the library this order changes
    from run to run.
    """
    letters = _letters(counts, plan)
    specials = [token.content for token in trainer.special_tokens]
    ids: dict[str, int] = {}
    for text in (*specials, *_alphabet(letters, trainer)):
        ids.setdefault(text, len(ids))
    prefix, suffix = trainer.continuing_subword_prefix or "", trainer.end_of_word_suffix or ""

    def written(text: str, place: int) -> str:
        return ("" if place & _AT_START else prefix) + text + (suffix if place & _AT_END else "")

    kept = {text: letter for text, letter in letters.items() if text in ids}
    seen = {written(text, place) for text, letter in kept.items() for place in range(4) if letter.counts[place]}
    for text in variants_in_order(seen - ids.keys()):
        ids[text] = len(ids)
    by_place = {text: [ids.get(written(text, place), _LEFT_OUT_SYMBOL) for place in range(4)] for text in kept}
    n_base = len(ids)
    longest = trainer.max_token_length
    with reporter(trainer.shows_progress or None) as report:
        pairs, _ = _core.train_alphabet(
            counts.columns,
            are_bytes=plan.are_bytes,
            units=[(unit, by_place[text]) for text, letter in kept.items() for unit in letter.units],
            n_symbols=n_base,
            named=list(_special_symbols(specials, ids, written, prefix, suffix)),
            rules={
                "n_merges": max(trainer.vocab_size - n_base, 0),
                "min_frequency": trainer.min_frequency,
                # The library forbids tokens of this length, but does not check pairs of two letters.
                "max_token_bytes": None if longest is None else max(longest - 1, 2),
            },
            report=report,
        )
    texts = list(ids)
    n_unused = max(256 - n_base, 0)
    merges = []
    for left, right in pairs.tolist():
        first, second = (texts[part if part < n_base else part - n_unused] for part in (left, right))
        merges.append((first, second))
        made = first + second.removeprefix(prefix)
        if made in ids and made not in specials:
            raise ValueError(
                f"two merges make {made!r}, because words contain the prefix or suffix as text; choose another one"
            )
        if made not in ids:
            ids[made] = len(texts)
            texts.append(made)
    model._put("vocab", ids)
    model._put("merges", merges)
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        model._put(name, getattr(trainer, name))


def _special_symbols(
    specials: Iterable[str], ids: Mapping[str, int], written: Callable[[str, int], str], prefix: str, suffix: str
) -> Iterator[tuple[list[int], int]]:
    """Yields (symbols, id) for each way in which merges can form a special token's text."""
    for special in dict.fromkeys(specials):
        for start, skipped in ((_AT_START, 0), (0, len(prefix))) if prefix else ((_AT_START, 0),):
            for end, dropped in ((0, 0), (_AT_END, len(suffix))) if suffix else ((0, 0),):
                if (skipped and not special.startswith(prefix)) or (dropped and not special.endswith(suffix)):
                    continue
                text = special[skipped : len(special) - dropped]
                last = len(text) - 1
                places = [(start if at == 0 else 0) | (end if at == last else 0) for at in range(len(text))]
                parts = [ids.get(written(each, place)) for each, place in zip(text, places, strict=True)]
                if last > 0 and None not in parts:
                    yield [part for part in parts if part is not None], ids[special]
