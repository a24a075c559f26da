"""Writers of shards, one module for each file format.

Each module has SUFFIXES (of a shard's files, the ids first), dtype(n_vocab), read(files, dtype), and Writer(paths,
dtype) with write(ids, ends), finish() and abandon(). `pairloom.shards.files.FORMATS` lists them.
"""
