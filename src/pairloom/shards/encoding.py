"""Encodes a corpus into shards; reading, encoding and writing run at the same time."""

from __future__ import annotations

from typing import Any

from pairloom import _core
from pairloom._internal.background_io import ReadAhead, WriteBehind
from pairloom.corpus import Corpus, Position, Reading
from pairloom.shards.manifest import Manifest
from pairloom.shards.memory import MemoryPlan
from pairloom.shards.shards import Batch, Shards
from pairloom.tokenizer import Tokenizer

__all__ = ["block_encoder", "encode_corpus"]


def block_encoder(
    tokenizer: Tokenizer, config: dict[str, Any], threads: int, plan: MemoryPlan | None = None
) -> _core.BlockEncoder:
    """The encoder that the options of a run ask for."""
    return tokenizer.block_encoder(
        begin_id=config["bos_id"],
        end_id=config["eot_id"],
        specials=config["specials"],
        threads=threads,
        max_memory=None if plan is None else plan.max_memory,
    )


def encode_corpus(
    tokenizer: Tokenizer,
    corpus: Corpus,
    manifest: Manifest,
    shards: Shards,
    threads: int,
    report: Any = None,
    plan: MemoryPlan | None = None,
) -> Reading:
    """Reads, encodes and writes from the manifest's resume point to the end of the corpus.

    Memory is a few blocks, with a plan of its sizes. Returns the reading, which says what was left out.
    """
    point = manifest.next
    # An error of a literal names the document, of which input only the block tells.
    limits: dict[str, Any] = {}
    if plan is not None:
        limits = {
            "memory": plan.max_memory,
            "decoder_memory": plan.decoder_bytes,
            "piece_bytes": plan.piece_bytes,
        }
    is_joined = manifest.config["specials"] != "error"
    reading = corpus.read(point, **limits, digests=manifest.digests, joined=is_joined)
    reading.skipped_files.extend(manifest.skipped_files)
    encoder = block_encoder(tokenizer, manifest.config, threads, plan)
    names = corpus.names
    n_bytes, n_tokens = manifest.text_bytes, manifest.tokens
    source, source_bytes = point.source, point.source_bytes
    done, total = 0, 0
    # always: documents encoded before an input turns out to be damaged are still written.
    behind = WriteBehind(shards.add, always=True)
    # Bytes of ids that may not be written yet.
    n_unwritten = n_held = 0
    with ReadAhead(reading) as blocks, behind as write:
        if report is not None:
            report("encode", 0, reading.total)
        for block in blocks:
            documents = block.documents
            if plan is not None:
                if n_unwritten > plan.unwritten_bytes:
                    behind.drain()
                    n_unwritten = 0
                n_held = plan.n_held + reading.n_bytes_held(block) + n_unwritten + shards.n_held_bytes
            try:
                ids, ends, literals = encoder.push(
                    documents, name=names[block.source], first=block.first, n_held=n_held
                )
            except MemoryError as error:
                raise MemoryError(f"{names[block.source]}: {error}") from error
            byte_ends = documents.ends() + n_bytes
            n_unwritten += ids.nbytes + 2 * ends.nbytes + literals.nbytes
            points = []
            for part in block.parts:
                if part.source != source:
                    # No document is open where an input begins.
                    source, source_bytes = part.source, int(byte_ends[part.start - 1]) if part.start else n_bytes
                points.append((part.start, Position(source, part.first, source_bytes, part.n_skipped_before)))
            write(Batch(ids, ends, byte_ends, literals, points, tuple(reading.skipped_files)))
            n_bytes += documents.n_bytes
            n_tokens += len(ids)
            # Frees their memory before the next block is encoded.
            del ids, ends, byte_ends, documents
            if report is not None:
                done, total = block.done, max(reading.total, block.done)
                report("encode", done, total, f"{n_tokens:,} tokens")
    if report is not None and done != total:
        report("encode", done, done, f"{n_tokens:,} tokens")
    return reading
