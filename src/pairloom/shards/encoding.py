"""Encodes a corpus into shards; reading, encoding and writing run at the same time."""

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from pairloom import _core
from pairloom._internal.background_io import ReadAhead, WriteBehind
from pairloom._internal.warnings import warn
from pairloom.corpus import Block, Corpus, Reading, SkippedFile
from pairloom.shards.manifest import Manifest
from pairloom.shards.provenance import ProvenanceRows
from pairloom.shards.selection import Selection, is_selection, selected_blocks, start_of
from pairloom.shards.shards import Batch, Shards
from pairloom.tokenizer import Tokenizer


def block_encoder(tokenizer: Tokenizer, config: dict[str, Any], threads: int) -> _core.BlockEncoder:
    """Returns an encoder with the options of a run."""
    return tokenizer.block_encoder(
        begin_id=config["bos_id"],
        end_id=config["eot_id"],
        specials=config["specials"],
        threads=threads,
    )


class _Target:
    """A folder into which a corpus is being encoded."""

    def __init__(self, manifest: Manifest, shards: Shards, first_input: int) -> None:
        self.shards = shards
        self.has_ids = False
        self._first_input = first_input
        self._n_bytes = self._last_end = manifest.text_bytes

    def batch(self, block: Block, encoded: tuple[Any, Any, Any], skipped_files: Sequence[SkippedFile]) -> Batch:
        """Returns what to write for a block."""
        ids, ends, literals = encoded
        byte_ends = block.documents.ends() + self._n_bytes
        self._n_bytes += block.documents.n_bytes
        provenance = self._provenance(block, ends, byte_ends)
        return Batch(ids, ends, byte_ends, literals, block.parts, tuple(skipped_files), provenance)

    def _provenance(self, block: Block, ends: Any, byte_ends: Any) -> ProvenanceRows | None:
        if block.origins is None:
            return None
        records, ids = block.origins
        self.has_ids = self.has_ids or any(id is not None for id in ids or ())
        n_of_parts = np.diff([*(part.start for part in block.parts), len(ends)])
        inputs = np.repeat([self._first_input + part.point.source for part in block.parts], n_of_parts)
        n_bytes = np.diff(byte_ends, prepend=self._last_end)
        self._last_end = int(byte_ends[-1]) if len(ends) else self._last_end
        return ProvenanceRows(np.arange(len(ends)), ends, inputs, records, np.zeros_like(records), n_bytes, ids)


def encode_corpus(
    tokenizer: Tokenizer,
    corpus: Corpus,
    targets: Sequence[tuple[Manifest, Shards]],
    threads: int,
    report: Any = None,
    *,
    first_input: int = 0,
) -> tuple[Reading, list[int | None]]:
    """Reads, encodes and writes from the resume points of the manifests to the end of the corpus.

    targets: one folder, or the folders of all parts of a split, which are written in one pass; apart from the split,
    their options must be equal. Memory is a few blocks. first_input: the index of the corpus's first source among the
    folders' inputs, for their provenance. Returns the reading, which knows what was left out, and the duplicates in
    each target (None if they were not counted).
    """
    manifests = [manifest for manifest, _ in targets]
    config, digests = manifests[0].config, manifests[0].digests
    for manifest in manifests:
        # A file that one part has skipped is not read again, so its recorded digest is shared with the other parts.
        known = [(file.input, manifest.inputs[file.input].get("xxh3_128")) for file in manifest.skipped_files]
        digests |= {number: digest for number, digest in known if digest is not None}
        manifest.digests = digests
    is_selected = is_selection(config)
    start = start_of(config, [manifest.next for manifest in manifests])
    origins = {"origins": True, "id_field": config["id_field"]} if manifests[0].has_provenance else {}
    # An error about a literal names the document and its input; in a joined block the input would be unknown.
    reading = corpus.read(start, **origins, digests=digests, joined=config["specials"] != "error")
    reading.skipped_files.extend(sorted({file for manifest in manifests for file in manifest.skipped_files}))
    selections = [Selection(manifest.config, manifest.next) for manifest in manifests]
    encoder = block_encoder(tokenizer, config, threads)
    names = corpus.names
    written = [_Target(manifest, shards, first_input) for manifest, shards in targets]
    n_documents = sum(manifest.documents for manifest in manifests)
    n_tokens = n_tokens_before = sum(manifest.tokens for manifest in manifests)
    started, counts = time.monotonic(), {}
    done, total = 0, 0
    with contextlib.ExitStack() as stack:
        blocks = stack.enter_context(ReadAhead(selected_blocks(reading, config, selections)))
        # always: documents encoded before an input turns out to be damaged are still written.
        writer = WriteBehind[tuple[Shards, Batch]](lambda item: item[0].add(item[1]), always=True)
        write = stack.enter_context(writer)
        if report is not None:
            report("encode", 0, reading.total)
        for number, block in blocks:
            documents, target = block.documents, written[number]
            # A selected document's number in its input is unknown.
            place = {} if is_selected else {"first": block.first}
            try:
                encoded = encoder.push(documents, name=names[block.source], **place)
            except MemoryError as error:
                raise MemoryError(f"{names[block.source]}: {error}") from error
            ids, ends, _ = encoded
            write((target.shards, target.batch(block, encoded, reading.skipped_files)))
            n_documents, n_tokens = n_documents + len(ends), n_tokens + len(ids)
            done = block.done
            # Free their memory before the next block is encoded.
            del ids, ends, encoded, documents
            if report is not None:
                total = max(reading.total, done)
                rate = (n_tokens - n_tokens_before) / max(time.monotonic() - started, 1e-9)
                counts = {"documents": n_documents, "tokens": n_tokens, "tokens_per_second": round(rate)}
                report("encode", done, total, **counts)
    if report is not None and done != total:
        report("encode", done, done, **counts)
    id_field = config.get("id_field")
    if id_field is not None and n_tokens and not n_tokens_before and not any(target.has_ids for target in written):
        warn(f"no document has an id in {id_field!r}, so the provenance tables contain no ids; check id_field=")
    return reading, [each.n_duplicates if "duplicates" in config else None for each in selections]
