"""View: shows texts as tokens in a self-contained HTML page, for a browser or a notebook.

The page needs no network and no server. Its content security policy allows only its own script and style. Texts and
names are embedded as JSON without `<`, and the script inserts them into the page as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pairloom._internal.arguments import check_bool, check_path, check_str
from pairloom._internal.atomic import write_file
from pairloom.model import CHARACTERS
from pairloom.patterns import pattern_name
from pairloom.view.payload import encoded, pretoken_lengths, tokenizer_payload
from pairloom.view.static import static_html

if TYPE_CHECKING:
    from pairloom.tokenizer import Tokenizer

MAX_BYTES: Final = 8 << 20
"""The limit for the texts of a page, in UTF-8 bytes."""

_ESCAPES: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_TOKENIZER_NAMES: Final = ("tokenizer", "ids", "pattern", "how tokens merge")
_INVISIBLE: Final = frozenset(("Cc", "Cf", "Zl", "Zp"))
_COLUMNS: Final = 90
_LINE_HEIGHT: Final = 26
_MAX_LINES: Final = 13
_PANEL_HEIGHT: Final = 460
"""For the frame in a notebook: characters per line, and heights in pixels."""


@dataclass(frozen=True)
class TextCounts:
    """The counts of one text; n_pretokens and n_tokens have one entry for each tokenizer."""

    name: str
    n_bytes: int
    n_characters: int
    n_pretokens: tuple[int, ...]
    n_tokens: tuple[int, ...]


class View:
    """Shows texts as tokens of one tokenizer, or of two with their differences marked; notebooks display it as a page.

    tokenizers: one or two (name, tokenizer). texts: (name, text). specials: encode special tokens as their ids
    ("recognise") or as plain text ("ordinary"), or raise SpecialTokenError ("error"). Normalised texts are shown after
    normalisation. `counts` has a `TextCounts` for each text. Raises ValueError for more than 8 MB of text,
    UnicodeEncodeError for lone surrogates.
    """

    def __init__(
        self,
        tokenizers: Sequence[tuple[str, Tokenizer]],
        texts: Sequence[tuple[str, str]],
        *,
        specials: str = "recognise",
    ) -> None:
        if len(tokenizers) not in (1, 2):
            raise ValueError(f"a view needs one or two tokenizers, not {len(tokenizers)}")
        self._tokenizers = [(_printable(name), tokenizer) for name, tokenizer in tokenizers]
        n_bytes = 0
        for name, text in texts:
            n_bytes += len(check_str(f"the text {name!r}", text).encode())
            if n_bytes > MAX_BYTES:
                raise ValueError(
                    f"the texts have more than {MAX_BYTES >> 20} MB; show fewer of them, or only their start"
                )
        used: list[set[int]] = [set() for _ in tokenizers]
        self.counts: list[TextCounts] = []
        self._texts = [text for _, text in texts]
        shown = []
        for name, text in texts:
            sides = []
            for (_, tokenizer), ids_used in zip(tokenizers, used, strict=True):
                ids = encoded(tokenizer, text, specials)
                listed = ids.tolist()
                ids_used.update(listed)
                sides.append({"ids": listed, "pretokens": pretoken_lengths(tokenizer, text, ids, specials)})
            shown.append({"name": _printable(name), "sides": sides})
            self.counts.append(
                TextCounts(
                    _printable(name),
                    len(text.encode()),
                    len(text),
                    tuple(len(side["pretokens"]) for side in sides),
                    tuple(len(side["ids"]) for side in sides),
                )
            )
        self._payload = {
            "tokenizers": [
                tokenizer_payload(tokenizer, name, ids, specials)
                for (name, tokenizer), ids in zip(self._tokenizers, used, strict=True)
            ],
            "texts": shown,
        }

    def html(self) -> str:
        """Returns the page: one HTML document that needs nothing else."""
        return self._page("")

    def _page(self, attribute: str) -> str:
        style, script = (_asset(f"display.{kind}") + _asset(f"page.{kind}") for kind in ("css", "js"))
        several = len(self._tokenizers) > 1
        shown = self.counts[0].name if len(self.counts) == 1 else f"{len(self.counts)} texts"
        values = {
            "frame": attribute,
            "title": html.escape(f"Tokens of {shown}"),
            "style": style,
            "style_hash": _source_hash(style),
            "script": script,
            "script_hash": _source_hash(script),
            "tokenizers_head": _row("th", _TOKENIZER_NAMES),
            "tokenizers": "".join(map(self._tokenizer_row, range(len(self._tokenizers)))),
            "counts_head": _row("th", self._count_names()),
            "counts": "".join(self._count_row(index) for index in range(len(self.counts))),
            "layout": "two" if several else "one",
            "legend": ' · <span class="t c1 differs">differs</span> from the other tokenizer' if several else "",
            "keys": ", <kbd>n</kbd> <kbd>p</kbd> by difference" if several else "",
            "data": _json(self._payload),
        }
        # In one pass, so that inserted values are never searched for names.
        return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], _asset("page.html"))

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes the page atomically; FileExistsError unless `overwrite`."""
        write_file(Path(check_path("path", path)), self.html().encode(), check_bool("overwrite", overwrite))

    def _repr_html_(self) -> str:
        """Returns the page in a frame, which cannot reach the notebook and is not changed by its style.

        The frame covers static coloured text, which stays visible if an untrusted notebook drops the frame.
        """
        lines = sum(1 + sum(1 + len(line) // _COLUMNS for line in text.split("\n")) for text in self._texts)
        height = _LINE_HEIGHT * min(lines * len(self._tokenizers), _MAX_LINES) + 16
        frame = self._page('data-frame="yes" ')
        return (
            f'<div style="height:{height}px;overflow:auto">{static_html(self._payload)}</div>'
            f'<iframe sandbox="allow-scripts" title="Tokens" srcdoc="{html.escape(frame)}" style="position:relative;'
            f"width:100%;height:{height + _PANEL_HEIGHT}px;margin-top:-{height}px;background:#ffffff;"
            'border:1px solid #888;border-radius:6px"></iframe>'
        )

    def __repr__(self) -> str:
        n_tokens = [sum(each.n_tokens[side] for each in self.counts) for side in range(len(self._tokenizers))]
        return f"View({len(self.counts)} texts, {' and '.join(map(str, n_tokens))} tokens)"

    def _tokenizer_row(self, index: int) -> str:
        name, tokenizer = self._tokenizers[index]
        letter = f"{'AB'[index]}: " if len(self._tokenizers) > 1 else ""
        kind = "none: merges cross words" if tokenizer.pattern == CHARACTERS else "a regular expression"
        pattern = pattern_name(tokenizer.pattern) or kind
        if tokenizer.model.normalizer:
            pattern += f" after {', '.join(tokenizer.model.normalizer_names)}"
        rules = {"ranks": "by ranks of joined bytes", "priorities": "by scores of pieces"}
        rule = rules.get(tokenizer.model.rule) or f"{len(tokenizer.model.merges):,} merges"
        return _row("td", [letter + name, f"{tokenizer.n_vocab:,}", pattern, rule], _TOKENIZER_NAMES)

    def _count_names(self) -> list[str]:
        if len(self._tokenizers) == 1:
            return ["text", "bytes", "characters", "pretokens", "tokens", "bytes per token"]
        return ["text", "bytes", "characters", "tokens A", "tokens B", "B against A", "bytes per token A", "B"]

    def _count_row(self, index: int) -> str:
        counts = self.counts[index]
        link = f'<a href="#text-{index}">{html.escape(counts.name)}</a>'
        ratios = [f"{counts.n_bytes / n:.3f}" if n else "-" for n in counts.n_tokens]
        cells = [f"{counts.n_bytes:,}", f"{counts.n_characters:,}"]
        if len(counts.n_tokens) == 1:
            cells += [f"{counts.n_pretokens[0]:,}", f"{counts.n_tokens[0]:,}", ratios[0]]
        else:
            first, second = counts.n_tokens
            more = f"{(second - first) / first:+.2%}" if first else "-"
            cells += [f"{first:,}", f"{second:,}", more, *ratios]
        return f'<tr><th scope="row">{link}</th>{_cells("td", cells, self._count_names()[1:])}</tr>'


def _row(tag: str, cells: Sequence[str], names: Sequence[str] = ()) -> str:
    return f"<tr>{_cells(tag, cells, names)}</tr>"


def _cells(tag: str, cells: Sequence[str], names: Sequence[str]) -> str:
    """Returns the cells of a row, with the column names if given, which the page shows beside each cell on a phone."""
    notes = [f' data-name="{name}"' for name in names] or [' scope="col"' if tag == "th" else ""] * len(cells)
    return "".join(f"<{tag}{note}>{html.escape(cell)}</{tag}>" for cell, note in zip(cells, notes, strict=True))


def _printable(name: str) -> str:
    """Returns the name with invisible and reordering characters as numbers, and with lone surrogates (bytes of a file
    name that is not UTF-8) replaced."""
    text = check_str("a name", name).encode(errors="surrogateescape").decode(errors="replace")
    return "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _INVISIBLE else c for c in text)


def _json(value: Mapping[str, Any]) -> str:
    """Returns JSON that is safe inside a script element: without `<` and without line terminators of JavaScript."""
    return json.dumps(value, separators=(",", ":")).translate(_ESCAPES)


@cache
def _asset(name: str) -> str:
    return resources.files("pairloom.view").joinpath(name).read_text(encoding="utf-8")


def _source_hash(source: str) -> str:
    """Returns the hash by which a content security policy allows exactly this inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
