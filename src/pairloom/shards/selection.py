"""Selects which documents of a corpus a folder of shards gets: one part of a split, without duplicates.

A document's number in [0, 1) comes from the first four bytes of the SHA-256 of its id or, if it has none, of its text.
A part of a split is an interval of these numbers, so a document stays in its part whatever else the corpus holds. Two
documents are duplicates if the first 16 bytes of the SHA-256 of their texts are equal. docs/shards.md specifies both.
"""

import contextlib
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pairloom import _core
from pairloom._internal.arguments import shown
from pairloom.corpus import Position, Reading
from pairloom.corpus.corpus import Block, Part
from pairloom.shards.files import is_run_file

_NAME = re.compile(r"\w[\w.-]*")
_DIGEST_BYTES = 16

_Halves = npt.NDArray[np.uint64]


def split_configs(split: Any) -> dict[str, dict[str, Any]]:
    """Returns the option `split` of each part, by name; ValueError or TypeError for an invalid split."""
    if not isinstance(split, Mapping):
        raise TypeError(
            f'split must be a dict of fractions, for example {{"train": 0.99, "val": 0.01}}, not {shown(split)}'
        )
    configs, end = {}, Fraction(0)
    for name, share in split.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or is_run_file(name):
            raise ValueError(f"split: {shown(name)} cannot be the name of a folder; use letters and digits")
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
            raise ValueError(
                f"split: the fraction of {name} must be a number above 0 and at most 1, not {shown(share)}"
            )
        # Uses the decimal number as written, so that 0.7 + 0.2 + 0.1 is 1.
        start, end = end, end + Fraction(str(share))
        configs[name] = {"from": float(start), "part": name, "to": float(end)}
    if abs(end - 1) > Fraction(1, 10**9):
        raise ValueError(f"split: the fractions add up to {float(end)}, not 1")
    # Three times 1/3 is less as decimal numbers.
    configs[name]["to"] = 1.0
    return configs


def check_selection(config: dict[str, Any]) -> None:
    """Raises ValueError, TypeError or KeyError if a manifest's options hold a damaged selection."""
    split = config.get("split")
    if split is not None and not 0 <= split["from"] < split["to"] <= 1:
        raise ValueError(f"split is {split!r}")
    if config.get("duplicates") not in (None, "count", "drop"):
        raise ValueError(f"duplicates is {config['duplicates']!r}")


def is_selection(config: dict[str, Any]) -> bool:
    """Whether these options leave out documents or count duplicates."""
    return not config.keys().isdisjoint(("split", "duplicates"))


def start_of(config: dict[str, Any], points: Sequence[Position]) -> Position:
    """Returns where reading begins so that runs with this config can resume at `points`."""
    first = min(points, key=lambda point: (point.source, point.documents))
    if not is_selection(config):
        return first
    # Which documents are duplicates, and where max_bytes ends, depends on all that was read before.
    if "duplicates" in config or config["max_bytes"] is not None:
        return Position()
    return replace(first, documents=0)


def selected_blocks(
    reading: Reading, config: dict[str, Any], selections: Sequence["Selection"]
) -> Iterator[tuple[int, Block]]:
    """Yields (number of the selection, block): what each of several folders gets from one reading."""
    seen = _Digests() if "duplicates" in config else None
    # A document longer than a block is held until it ends, since its digest is known only then.
    held: list[str] = []
    with contextlib.closing(reading):
        for block in reading:
            if not is_selection(config):
                yield 0, block
                continue
            texts = block.documents.texts()
            if texts and held:
                texts[0] = "".join([*held, texts[0]])
                held = []
            if block.documents.n_open_bytes:
                held.append(block.documents.open_text())
            digests = [hashlib.sha256(text.encode()).digest() for text in texts]
            deciding = digests
            if block.origins is not None and block.origins.ids is not None:
                pairs = zip(block.origins.ids, digests, strict=True)
                deciding = [text if id is None else hashlib.sha256(id.encode()).digest() for id, text in pairs]
            numbers = np.frombuffer(b"".join(digest[:4] for digest in deciding), ">u4") / (1 << 32)
            halves = np.frombuffer(b"".join(digest[:_DIGEST_BYTES] for digest in digests), np.uint64)
            is_new = None if seen is None else seen.add(halves[::2], halves[1::2])
            for number, selection in enumerate(selections):
                taken = selection.take(block, texts, numbers, is_new)
                if taken is not None:
                    yield number, taken


class Selection:
    """Which documents a folder gets. point: where it resumes, counted in documents that the folder gets."""

    def __init__(self, config: dict[str, Any], point: Position) -> None:
        split = config.get("split", {})
        self._start, self._end = split.get("from", 0.0), split.get("to", 1.0)
        self._is_dropping = config.get("duplicates") == "drop"
        self._point = point
        self._source = -1
        # How many documents of the current source the folder has so far.
        self._n_documents = 0
        self.n_duplicates = 0

    def take(
        self, block: Block, texts: list[str], numbers: npt.NDArray[np.float64], is_new: npt.NDArray[np.bool_] | None
    ) -> Block | None:
        """Returns the folder's documents after its resume point as a block; None if there are none."""
        is_taken = (self._start <= numbers) & (numbers < self._end)
        if is_new is not None:
            self.n_duplicates += int(np.count_nonzero(is_taken & ~is_new))
            if self._is_dropping:
                is_taken &= is_new
        parts, n_taken = [], 0
        stops = [*(part.start for part in block.parts[1:]), len(texts)]
        for part, stop in zip(block.parts, stops, strict=True):
            source = part.point.source
            if source != self._source:
                self._source, self._n_documents = source, 0
            places = part.start + np.flatnonzero(is_taken[part.start : stop])
            n_done = len(places)
            if source >= self._point.source:
                n_left = self._point.documents - self._n_documents if source == self._point.source else 0
                n_done = min(max(n_left, 0), n_done)
            is_taken[places[:n_done]] = False
            if n_done < len(places):
                parts.append(Part(n_taken, replace(part.point, documents=self._n_documents + n_done)))
                n_taken += len(places) - n_done
            self._n_documents += len(places)
        if not parts:
            return None
        documents = _core.Documents.from_texts(list(itertools.compress(texts, is_taken.tolist())))
        origins = None if block.origins is None else block.origins.selected(is_taken)
        return Block(documents, parts, block.done, origins)


class _Digests:
    """A set of 16-byte digests, as sorted arrays, each more than twice as long as the next.

    The arrays are sorted by the digests' first halves. If several digests had equal first halves, which nobody has ever
    seen, only one would be found; so a new document is never mistaken for a duplicate.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[_Halves, _Halves]] = []

    def add(self, first: _Halves, second: _Halves) -> npt.NDArray[np.bool_]:
        """Adds digests, given as halves, uint64 [n] each; returns which of them are new: bool [n]."""
        firsts, places, of = np.unique(first, return_index=True, return_inverse=True)
        seconds = second[places]
        is_new: npt.NDArray[np.bool_] = seconds[of] != second
        is_unknown = np.ones(len(firsts), bool)
        for run, run_seconds in self._runs:
            at = np.minimum(np.searchsorted(run, firsts), len(run) - 1)
            is_unknown &= (run[at] != firsts) | (run_seconds[at] != seconds)
        firsts, seconds = firsts[is_unknown], seconds[is_unknown]
        is_new[places[is_unknown]] = True
        while self._runs and len(self._runs[-1][0]) <= 2 * len(firsts):
            more_firsts, more_seconds = self._runs.pop()
            firsts, seconds = np.concatenate([firsts, more_firsts]), np.concatenate([seconds, more_seconds])
            order = np.argsort(firsts, kind="stable")
            firsts, seconds = firsts[order], seconds[order]
        if len(firsts):
            self._runs.append((firsts, seconds))
        return is_new
