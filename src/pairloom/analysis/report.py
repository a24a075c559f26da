"""Reports on tokenizers over named corpora, such as languages: costs, how unequal they are, and useless tokens."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairloom._internal.arguments import as_text
from pairloom.analysis.inspect import unreachable_tokens
from pairloom.analysis.render import is_text, shown_token
from pairloom.analysis.stats import RENYI_ALPHA, CorpusStats, corpus_stats, renyi_efficiency
from pairloom.corpus import Corpus
from pairloom.corpus.sources import STDIN
from pairloom.corpus.streams import is_stream
from pairloom.tokenizer import Tokenizer, check_tokenizer

_LOOKS_SPECIAL = re.compile(rb"\s*(<\|[^|]*\|>|</?[A-Za-z_][^<>\s]*>|\[/?[A-Z_]+[0-9]*\])\s*")
_MAX_SHOWN = 8


@dataclass(frozen=True, eq=False)
class TokenizerReport:
    """One tokenizer on all corpora; `pairloom.reference.fairness` defines premium and Gini coefficient.

    corpora: the statistics of each. costs: the tokens of the whole corpus if the corpora are parallel, else tokens per
    byte; empty corpora have no cost. premiums: each cost divided by the least. gini: of the costs, 0 if all are equal.
    Ids of ordinary tokens, ascending: unused: in no corpus; unreachable: never made by merging; partial: several bytes
    that are not whole characters; glitch: unused, and also special-looking, unreachable, or split by the pattern if
    they are the whole text. Ratios are NaN if nothing was counted.
    """

    name: str
    corpora: dict[str, CorpusStats]
    costs: dict[str, float]
    unused: list[int]
    unreachable: list[int]
    partial: list[int]
    glitch: list[int]
    n_vocab_tokens: int

    @property
    def premiums(self) -> dict[str, float]:
        """Each cost divided by the least one."""
        least = min(self.costs.values(), default=math.nan)
        return {name: cost / least for name, cost in self.costs.items()}

    @property
    def gini(self) -> float:
        """The Gini coefficient of the costs."""
        costs = sorted(self.costs.values())
        n = len(costs)
        weighted = sum((2 * rank - n - 1) * cost for rank, cost in enumerate(costs, 1))
        return weighted / (n * sum(costs)) if costs else math.nan

    @property
    def renyi_efficiency(self) -> float:
        """The Renyi efficiency over all corpora together."""
        counts = sum(stats.token_counts for stats in self.corpora.values())
        return renyi_efficiency(counts, self.n_vocab_tokens)

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as JSON values; null if nothing was counted."""
        return {
            "name": self.name,
            "vocabulary": self.n_vocab_tokens,
            "gini": _finite(self.gini),
            "renyi_efficiency": _finite(self.renyi_efficiency),
            "corpora": {
                name: {**stats.as_dict(), "cost": self.costs.get(name), "premium": self.premiums.get(name)}
                for name, stats in self.corpora.items()
            },
            **{what: getattr(self, what) for what in _KINDS},
        }


_KINDS = {
    "unused": "unused tokens",
    "unreachable": "unreachable tokens",
    "partial": "parts of characters",
    "glitch": "likely glitch tokens",
}


def report(
    tokenizers: Mapping[str, Tokenizer],
    corpora: Mapping[str, Any],
    *,
    parallel: bool = False,
    threads: int = 0,
    specials: str = "recognise",
) -> list[TokenizerReport]:
    """Returns a report for each tokenizer on all corpora; both arguments are dicts by name.

    corpora: paths or a `Corpus` for each name; they are read once per tokenizer. parallel: whether the corpora say the
    same in different languages, so that total tokens are comparable, not only tokens per byte. threads, specials: as in
    `corpus_stats`. Raises ValueError if a dict is empty, and the errors of `corpus_stats`.
    """
    for what, given in (("tokenizers", tokenizers), ("corpora", corpora)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{what} must be a dict from a name, not {type(given).__name__}")
        if not given:
            raise ValueError(f"{what} is empty; pass at least one")
    corpora = {name: each if isinstance(each, Corpus) else Corpus(each) for name, each in corpora.items()}
    for name, corpus in corpora.items() if len(tokenizers) > 1 else ():
        if any(source.name == STDIN or is_stream(source.name) for source in corpus.sources):
            raise ValueError(
                f"corpus {name!r}: standard input and pipes can be read only once, and each tokenizer reads it all;"
                " save it as a file"
            )
    return [
        _report_of(name, check_tokenizer(f"tokenizers[{name!r}]", tokenizer), corpora, parallel, threads, specials)
        for name, tokenizer in tokenizers.items()
    ]


def _report_of(
    name: str, tokenizer: Tokenizer, corpora: Mapping[str, Any], parallel: bool, threads: int, specials: str
) -> TokenizerReport:
    how: dict[str, Any] = {"threads": threads, "specials": specials}
    of_corpus = {each: corpus_stats(tokenizer, corpus, **how) for each, corpus in corpora.items()}
    counts = np.sum([stats.token_counts for stats in of_corpus.values()], axis=0)
    special_ids = set(tokenizer.special_tokens.values())
    ordinary = {i: token for i, token in tokenizer.model.tokens().items() if i not in special_ids}
    unreachable, cut_alone = unreachable_tokens(tokenizer)
    unused = [i for i in ordinary if not counts[i]]
    strange = {i for i in unused if _LOOKS_SPECIAL.fullmatch(ordinary[i])} | {*unreachable, *cut_alone}
    return TokenizerReport(
        name=name,
        corpora=of_corpus,
        costs={
            each: stats.n_tokens / (1 if parallel else stats.n_bytes)
            for each, stats in of_corpus.items()
            if stats.n_tokens
        },
        unused=unused,
        unreachable=[i for i in unreachable if i in ordinary],
        partial=[i for i, token in ordinary.items() if len(token) > 1 and not is_text(token)],
        glitch=[i for i in unused if i in strange],
        n_vocab_tokens=len(ordinary) + len(special_ids),
    )


def report_text(found: TokenizerReport, tokenizer: Tokenizer) -> str:
    """Returns the report as a readable table."""
    names = {name: as_text(name) for name in found.corpora}
    width = max(map(len, ("corpus", *names.values())))
    lines = [
        f"{as_text(found.name)}: {found.n_vocab_tokens} tokens",
        f"  {'corpus':<{width}}{'tokens':>12}{'bytes/token':>13}{'tokens/word':>13}{'premium':>9}{'Renyi':>8}",
    ]
    for name, stats in found.corpora.items():
        figures = (
            (stats.bytes_per_token, ">13.4f"),
            (stats.tokens_per_word, ">13.4f"),
            (found.premiums.get(name, math.nan), ">9.3f"),
            (stats.renyi_efficiency, ">8.4f"),
        )
        lines.append(
            f"  {names[name]:<{width}}{stats.n_tokens:>12}{''.join(figure_text(*figure) for figure in figures)}"
        )
    lines.append(f"  Gini coefficient{figure_text(found.gini, '>8.4f')}")
    lines.append(f"  Renyi efficiency{figure_text(found.renyi_efficiency, '>8.4f')} at alpha {RENYI_ALPHA}")
    for kind, name in _KINDS.items():
        ids = getattr(found, kind)
        examples = "".join(f" {i}:{shown_token(tokenizer.id_to_token(i))}" for i in ids[:_MAX_SHOWN])
        more = " ..." if len(ids) > _MAX_SHOWN else ""
        lines.append(f"  {name:<20} {len(ids)}" + (f" {examples}{more}" if kind == "glitch" and ids else ""))
    return "\n".join(lines) + "\n"


def figure_text(figure: float, format: str, unit: str = "") -> str:
    """Formats a figure with its unit, or a dash if nothing was counted."""
    width = format.removeprefix(">").partition(".")[0]
    return f"{figure:{format}}{unit}" if math.isfinite(figure) else f"{'-':>{width}}"


def _finite(figure: float) -> float | None:
    return figure if math.isfinite(figure) else None
