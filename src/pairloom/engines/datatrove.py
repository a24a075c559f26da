"""datatrove: pipeline steps that count pretokens and tokenize. Needs the extra [datatrove].

Ranks are datatrove's. A rank that runs again writes its file anew, so reruns are exact. datatrove's local executor
waits forever for a worker that was killed: stop it and run it again; finished ranks are skipped.
"""

from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pairloom import _core
from pairloom._internal.optional_deps import import_optional
from pairloom.corpus.text_batches import batches_of
from pairloom.engines.datatrove_counts import CountsMerger, PretokenCounter
from pairloom.engines.shared import specials_options
from pairloom.post_processing import post_processor_of
from pairloom.tokenizer import Tokenizer

__all__ = ["CountsMerger", "PairloomTokenizer", "PretokenCounter"]

_PURPOSE = "pairloom.engines.datatrove"
_batching = import_optional("datatrove.utils.batching", _PURPOSE)
_tokens: Any = import_optional("datatrove.pipeline.tokens.tokenizer", _PURPOSE)
_DocumentTokenizer: Any = _tokens.DocumentTokenizer


@lru_cache(maxsize=1)
def _load_once(path: str, modified_ns: int) -> Tokenizer:
    """Loads the tokenizer once for all ranks of a process, so that what its cache has learned stays."""
    return Tokenizer.load(path)


class PairloomTokenizer(_DocumentTokenizer):  # type: ignore[misc]
    """datatrove's DocumentTokenizer, with its files and its options except save_loss_metadata, encoding with pairloom.

    tokenizer_name_or_path: a file that `Tokenizer.load` reads. specials: literals of special tokens in documents become
    plain text ("ordinary"), ids as DocumentTokenizer makes them ("recognise"), or an "error".
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
        if self.save_loss_metadata:
            raise ValueError("save_loss_metadata is not supported; use datatrove's DocumentTokenizer")
        self._specials, self._threads = specials, threads

    @cached_property
    def _loaded(self) -> tuple[Tokenizer, dict[str, int]]:
        """The tokenizer, and what is put around each document as arguments of its block_encoder."""
        tokenizer = _load_once(self.tokenizer_name_or_path, Path(self.tokenizer_name_or_path).stat().st_mtime_ns)
        if self.eos_token and self.eos_token not in tokenizer.special_tokens:
            raise ValueError(f"eos_token must be a special token of the tokenizer; not {self.eos_token!r}")
        if self.eos_token:
            return tokenizer, {"end_id": tokenizer.special_tokens[self.eos_token]}
        # DocumentTokenizer then writes what the tokenizer itself puts around a text.
        around = post_processor_of(tokenizer.post_processor).surrounded([-1])
        before, after = around[: around.index(-1)], around[around.index(-1) + 1 :]
        if len(before) > 1 or len(after) > 1:
            raise ValueError(f"the tokenizer adds {before} and {after} around a text; pass eos_token to add only that")
        return tokenizer, {name: ids[0] for name, ids in (("begin_id", before), ("end_id", after)) if ids}

    @cached_property
    def token_size(self) -> int:
        """The bytes of one id in the files."""
        return 2 if self._loaded[0].n_vocab <= 1 << 16 else 4

    def write_unshuffled(self, data: Iterable[Any], filename: str) -> Any:
        """Does the same as the base class, but without an object for each id."""
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
        tokenizer, around = self._loaded
        encoder = tokenizer.block_encoder(**around, specials=self._specials, threads=self._threads)
        for batch in _batching.batched(data, self.batch_size):
            with self.track_time(unit="batch"):
                # A few megabytes at a time, which fit into a processor's caches.
                texts: Any
                for texts in batches_of([document.text for document in batch]):
                    ids, ends, _ = encoder.push(_core.Documents.from_texts(texts))
                    unshuffled.write_bytes(ids.astype(f"<u{self.token_size}").tobytes(), doc_ends=ends.tolist())
                    self.stat_update("tokens", value=len(ids))
        unshuffled.close()
        return unshuffled
