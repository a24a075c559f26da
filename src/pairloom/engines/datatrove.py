"""datatrove: pipeline steps that count pretokens and tokenize. Needs the extra [datatrove].

Ranks are datatrove's; a rank that is run again writes its file anew, so reruns are exact. datatrove's local executor
waits forever for a worker that was killed: stop it and run it again, finished ranks are skipped.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.optional_deps import import_optional
from pairloom.counts.builder import CountBuilder
from pairloom.counts.pretoken_counts import PretokenCounts
from pairloom.engines.encodings import BatchEncoder
from pairloom.engines.shared import specials_options
from pairloom.model import Pattern
from pairloom.tokenizer import Tokenizer

__all__ = ["CountsMerger", "PairloomTokenizer", "PretokenCounter"]

_PURPOSE = "pairloom.engines.datatrove"
_Step: Any = import_optional("datatrove.pipeline.base", _PURPOSE).PipelineStep
_io = import_optional("datatrove.io", _PURPOSE)
_batching = import_optional("datatrove.utils.batching", _PURPOSE)
_tokens: Any = import_optional("datatrove.pipeline.tokens.tokenizer", _PURPOSE)
_DocumentTokenizer: Any = _tokens.DocumentTokenizer


class PretokenCounter(_Step):  # type: ignore[misc]
    """Counts the pretokens of the documents that pass through, into `{rank:05d}.parquet` of `output_folder`.

    options: of `CountBuilder` (special_tokens, corpus_specials, max_memory). One thread a rank unless `threads` says.
    """

    name = "🔢 Pretoken counter"
    type = "🔢 - TOKENIZER"

    def __init__(
        self, output_folder: Any, pattern: Pattern = "gpt2", *, batch_size: int = 1000, threads: int = 1, **options: Any
    ) -> None:
        super().__init__()
        self.output_folder = _io.get_datafolder(output_folder)
        self._pattern, self._batch_size, self._options = pattern, batch_size, {"threads": threads, **options}
        CountBuilder(pattern, **self._options)

    def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Yields the documents; the counts are written after the last one."""
        builder = CountBuilder(self._pattern, **self._options)
        for batch in _batching.batched(data, self._batch_size):
            with self.track_time(unit="batch"):
                builder.add_texts([document.text for document in batch])
            yield from batch
        counts = builder.finish()
        self.stat_update("pretokens", value=len(counts), unit="task")
        _save(counts, self.output_folder, f"{rank:05d}.parquet")


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
            paths = [Path(local) / f"{number}.parquet" for number in range(len(names))]
            for name, path in zip(names, paths, strict=True):
                self.input_folder.get_file(name, str(path))
            counts = PretokenCounts.from_parquet(paths or local, max_memory=self._max_memory)
            _save(counts, self.output_folder, self._filename)


def _save(counts: PretokenCounts, folder: Any, name: str) -> None:
    with tempfile.TemporaryDirectory() as local:
        counts.save(Path(local) / Path(name).name)
        with folder.open(name, "wb") as file:
            file.write((Path(local) / Path(name).name).read_bytes())


class PairloomTokenizer(_DocumentTokenizer):  # type: ignore[misc]
    """DocumentTokenizer with its options and its files, encoded by pairloom; the first arguments are the same.

    tokenizer_name_or_path: a file that `Tokenizer.load` reads. specials: literals of special tokens in documents are
    plain text ("ordinary"), ids as DocumentTokenizer makes them ("recognise") or an "error".
    """

    def __init__(
        self,
        output_folder: Any,
        tokenizer_name_or_path: str,
        *args: Any,
        specials: str = "ordinary",
        threads: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(output_folder, str(tokenizer_name_or_path), *args, **options)
        specials_options(specials)
        self._specials, self._threads = specials, threads

    @cached_property
    def _loaded(self) -> tuple[Tokenizer, int | None]:
        tokenizer = Tokenizer.load(self.tokenizer_name_or_path)
        if self.eos_token and self.eos_token not in tokenizer.special_tokens:
            raise ValueError(f"eos_token must be a special token of the tokenizer; not {self.eos_token!r}")
        return tokenizer, tokenizer.special_tokens[self.eos_token] if self.eos_token else None

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer as the base class calls it."""
        tokenizer, end = self._loaded
        return BatchEncoder(tokenizer, [] if end is None else [end], self._specials)

    def write_unshuffled(self, data: Iterable[Any], filename: str) -> Any:
        """As the base class, but without an object for each id."""
        if self.save_loss_metadata:
            return super().write_unshuffled(data, filename)
        shuffles = self.shuffle_documents or self.shuffle_chunk_size
        unshuffled = _tokens.TokenizedFile(
            self.local_working_dir if shuffles and self.local_working_dir else self.output_folder,
            filename,
            save_index=self.save_index or shuffles,
            upload_block_size=self.upload_block_size,
            tokenizer_name_or_path=self.tokenizer_name_or_path,
            save_final_metadata=self.save_final_metadata,
            token_size=self.token_size,
        )
        tokenizer, end = self._loaded
        encoder = tokenizer.block_encoder(end_id=end, specials=self._specials, threads=self._threads)
        for batch in _batching.batched(data, self.batch_size):
            with self.track_time(unit="batch"):
                documents = _core.Documents.from_texts([document.text for document in batch])
                ids, ends, _ = encoder.push(documents)
                unshuffled.write_bytes(ids.astype(f"<u{self.token_size}").tobytes(), doc_ends=ends.tolist())
                self.stat_update("tokens", value=len(ids))
        unshuffled.close()
        return unshuffled
