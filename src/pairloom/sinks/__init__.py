"""Sinks: where ids go. One small module a format; `shards` cuts the stream of ids, `manifest` says what is there.

Each format has SUFFIXES (of the files of a shard, the ids first), dtype(n_vocab), and Writer(paths, dtype) with
write(ids, ends) and finish().
"""

from pairloom.sinks.manifest import Manifest, Place
from pairloom.sinks.shards import FORMATS, Shards

__all__ = ["FORMATS", "Manifest", "Place", "Shards"]
