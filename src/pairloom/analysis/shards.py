"""Statistics of a folder of shards: documents, tokens, compression, document lengths, and the share of each input."""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairloom._internal.arguments import as_text
from pairloom.shards.reading import OpenShards, open_shards

_PERCENTILES = (50, 90, 99, 100)
_MAX_INPUTS = 20
_WIDTH = 40


class LengthBin(NamedTuple):
    """The number of documents with `least` to `most` tokens, and the sum of their tokens."""

    least: int
    most: int
    documents: int
    tokens: int


@dataclass(frozen=True)
class ShardStats:
    """The statistics of a folder of shards.

    is_packed: whether the documents are rows of `pack_shards`. n_bytes: bytes of text; n_file_bytes: size of the shard
    files. n_skipped: records that were left out. is_complete: whether the run has ended. inputs: (path, documents,
    tokens) of each input, before packing; None if the run has not ended or did not count them. lengths: documents by
    length, in powers of two. percentiles: the length that 50, 90, 99 and 100 % of the documents do not exceed; empty
    without documents.
    """

    folder: str
    format: str
    dtype: str
    is_packed: bool
    n_documents: int
    n_tokens: int
    n_bytes: int
    n_shards: int
    n_file_bytes: int
    n_skipped: int
    is_complete: bool
    inputs: list[tuple[str, int | None, int | None]]
    lengths: list[LengthBin]
    percentiles: dict[int, int]

    @property
    def bytes_per_token(self) -> float | None:
        """Compression: bytes of text per token; None without tokens."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as JSON values, without the "n_" and "is_" of the names."""
        return {
            **{name.removeprefix("n_").removeprefix("is_"): value for name, value in vars(self).items()},
            "bytes_per_token": self.bytes_per_token,
            "inputs": [dict(zip(("path", "documents", "tokens"), each, strict=True)) for each in self.inputs],
            "lengths": [each._asdict() for each in self.lengths],
        }


def shard_stats(shards: OpenShards | str | os.PathLike[str]) -> ShardStats:
    """Returns the statistics of a folder of shards, from its manifest and its documents' offsets.

    shards: the folder, which can be of an unfinished run, or `OpenShards`. Raises the errors of `open_shards`.
    """
    opened = shards if isinstance(shards, OpenShards) else open_shards(shards, incomplete=True)
    manifest, lengths = opened.manifest, opened.lengths()
    bounds = 1 << np.arange(63, dtype=np.int64)
    bins = np.searchsorted(bounds, lengths, side="right")
    documents = np.bincount(bins, minlength=64)
    ends = np.cumsum(documents)
    ordered = np.sort(lengths)
    tokens = [int(ordered[end - n : end].sum()) for n, end in zip(documents, ends, strict=True)]
    limits = [(0, 0), *((int(least), 2 * int(least) - 1) for least in bounds)]
    used = np.flatnonzero(documents)
    found = range(int(used[0]), int(used[-1]) + 1) if len(used) else range(0)
    percents = _PERCENTILES if len(lengths) else ()
    return ShardStats(
        folder=str(opened.folder),
        format=manifest.format,
        dtype=opened.dtype.name,
        is_packed="pack" in manifest.config,
        n_documents=len(lengths),
        n_tokens=opened.n_tokens,
        n_bytes=manifest.text_bytes,
        n_shards=len(manifest.shards),
        n_file_bytes=sum(int(entry["size"]) for entry in manifest.files),
        n_skipped=manifest.skipped,
        is_complete=manifest.complete,
        inputs=[(entry["path"], entry.get("documents"), entry.get("tokens")) for entry in manifest.inputs],
        lengths=[LengthBin(*limits[number], int(documents[number]), tokens[number]) for number in found],
        percentiles={percent: int(ordered[-(-percent * len(ordered) // 100) - 1]) for percent in percents},
    )


def shard_stats_text(stats: ShardStats) -> str:
    """Returns the statistics as a readable table."""
    ratio = stats.bytes_per_token
    one, all_of_them, before = (
        ("row", "rows", " (before packing, all ranks)") if stats.is_packed else ("document", "documents", "")
    )
    rows = {
        all_of_them: f"{stats.n_documents:,}",
        "tokens": f"{stats.n_tokens:,}",
        "bytes of text": f"{stats.n_bytes:,}",
        "bytes per token": "-" if ratio is None else f"{ratio:.4f}",
        "shards": f"{stats.n_shards:,} of {stats.format}, {stats.dtype}, {stats.n_file_bytes:,} bytes",
        "records skipped": f"{stats.n_skipped:,}",
    }
    if not stats.is_complete:
        rows["unfinished"] = "the run that writes it has not finished; these are its finished shards"
    lines = [f"{name:<20} {value}" for name, value in rows.items()]
    if stats.percentiles:
        half, most, nearly, longest = stats.percentiles.values()
        lines.append(f"{'tokens per ' + one:<20} {stats.n_tokens / stats.n_documents:,.1f} on average; half have up to")
        lines[-1] += f" {half:,}, 90 % up to {most:,}, 99 % up to {nearly:,}, the longest {longest:,}"
        lines += ["", f"{'length in tokens':>21} {all_of_them:>15} {'share':>7} {'of tokens':>9}"]
    for least, most, documents, tokens in stats.lengths:
        share, of_tokens = documents / stats.n_documents, tokens / max(stats.n_tokens, 1)
        length = f"{least:,}" if least == most else f"{least:,} - {most:,}"
        bar = "#" * round(share * _WIDTH)
        lines.append(f"{length:>21} {documents:>15,} {share:>7.1%} {of_tokens:>9.1%} {bar}".rstrip())
    lines += ["", f"{'tokens of an input':>21} {'documents':>15} {'share':>7}{before}"] if stats.inputs else []
    largest = sorted(stats.inputs, key=lambda entry: -(entry[2] or 0))
    total = max(sum(tokens or 0 for _, _, tokens in stats.inputs), 1)
    for path, n_documents, n_tokens in largest[:_MAX_INPUTS]:
        figures = f"{'-':>21} {'-':>15} {'-':>7}"
        if n_documents is not None and n_tokens is not None:
            figures = f"{n_tokens:>21,} {n_documents:>15,} {n_tokens / total:>7.1%}"
        lines.append(f"{figures} {as_text(path)}")
    if len(largest) > _MAX_INPUTS:
        lines.append(f"and {len(largest) - _MAX_INPUTS:,} more inputs; --json lists all")
    return "\n".join(lines) + "\n"
