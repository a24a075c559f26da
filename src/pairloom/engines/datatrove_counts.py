"""datatrove: the steps that count pretokens and add counts; `pairloom.engines.datatrove` exports them."""

import errno
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pairloom._internal.optional_deps import import_optional
from pairloom.corpus import Corpus
from pairloom.corpus.local_files import SKIPPED_PREFIXES
from pairloom.counts.pretoken_counts import CountBuilder, PretokenCounts
from pairloom.errors import CountsError
from pairloom.model import Pattern

_PURPOSE = "pairloom.engines.datatrove"
_Step: Any = import_optional("datatrove.pipeline.base", _PURPOSE).PipelineStep
_io = import_optional("datatrove.io", _PURPOSE)
_batching = import_optional("datatrove.utils.batching", _PURPOSE)


class PretokenCounter(_Step):  # type: ignore[misc]
    """Counts the pretokens of the documents that pass through, into `{rank:05d}.parquet` of `output_folder`.

    input_folder: count its files instead, as the first step of a pipeline; each rank counts its share. This is cheaper,
    since no object is made for each document. reading: options of `Corpus` for these files (text_field, skip_bad, ...).
    options: special_tokens, corpus_specials, max_memory. Each rank uses one thread unless `threads` says otherwise.
    """

    name = "🔢 Pretoken counter"
    type = "🔢 - TOKENIZER"

    def __init__(
        self,
        output_folder: Any,
        pattern: Pattern = "gpt2",
        *,
        input_folder: Any = None,
        reading: dict[str, Any] | None = None,
        batch_size: int = 200,
        threads: int = 1,
        **options: Any,
    ) -> None:
        super().__init__()
        if reading is not None and input_folder is None:
            raise ValueError("reading applies only to files; pass input_folder, or leave out reading")
        self.output_folder = _io.get_datafolder(output_folder)
        self.input_folder = None if input_folder is None else _io.get_datafolder(input_folder)
        self._reading = reading or {}
        self._pattern, self._batch_size, self._options = pattern, batch_size, {"threads": threads, **options}
        CountBuilder(pattern, **self._options)

    def run(self, data: Iterable[Any] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Yields the documents; the counts are written after the last one."""
        if self.input_folder is None:
            builder = CountBuilder(self._pattern, **self._options)
            for batch in _batching.batched(data or (), self._batch_size):
                with self.track_time(unit="batch"):
                    builder.add_texts([document.text for document in batch])
                yield from batch
            counts = builder.finish()
        else:
            if data:
                raise ValueError("with input_folder, the counter must be the first step; remove the reader")
            with self.track_time(unit="task"):
                counts = self._count_files(self.input_folder, rank, world_size)
        self.stat_update("pretokens", value=len(counts), unit="task")
        _save(counts, self.output_folder, f"{rank:05d}.parquet")

    def _count_files(self, folder: Any, rank: int, world_size: int) -> PretokenCounts:
        """Counts this rank's files of a folder."""
        # Skip names that mark what is not data, as `Corpus` does.
        found = folder.list_files(recursive=True)
        found = [name for name in found if not any(part.startswith(SKIPPED_PREFIXES) for part in name.split("/"))]
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no files in this folder", folder.path)
        names = found[rank::world_size]
        if not names:
            return CountBuilder(self._pattern, **self._options).finish()
        corpus = Corpus(folder.resolve_paths(names), **self._reading)
        return PretokenCounts.from_texts(corpus, self._pattern, **self._options)


class CountsMerger(_Step):  # type: ignore[misc]
    """Adds the counts of all ranks in `input_folder` into one file; run it as one task, after the counters."""

    name = "🔢 Counts merger"
    type = "🔢 - TOKENIZER"

    def __init__(
        self,
        input_folder: Any,
        output_folder: Any,
        save_filename: str = "counts.parquet",
        *,
        max_memory: int | None = None,
    ) -> None:
        super().__init__()
        self.input_folder, self.output_folder = _io.get_datafolder(input_folder), _io.get_datafolder(output_folder)
        self._filename, self._max_memory = save_filename, max_memory

    def run(self, data: Iterable[Any] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Yields the documents, if there are any."""
        if world_size != 1:
            raise ValueError(f"CountsMerger runs as one task, not {world_size}; pass tasks=1 to its executor")
        if data:
            yield from data
        with self.track_time(unit="task"), tempfile.TemporaryDirectory() as local:
            names = sorted(name for name in self.input_folder.list_files() if name.endswith(".parquet"))
            if not names:
                raise CountsError(
                    f"{self.input_folder.path}: no *.parquet in this folder; pass the output folder of the counters"
                )
            paths = [Path(local) / f"{number}.parquet" for number in range(len(names))]
            for name, path in zip(names, paths, strict=True):
                self.input_folder.get_file(name, str(path))
            counts = PretokenCounts.from_parquet(paths, max_memory=self._max_memory)
            _save(counts, self.output_folder, self._filename)


def _save(counts: PretokenCounts, folder: Any, name: str) -> None:
    with tempfile.TemporaryDirectory() as local:
        counts.save(Path(local) / Path(name).name)
        with folder.open(name, "wb") as file:
            file.write((Path(local) / Path(name).name).read_bytes())
