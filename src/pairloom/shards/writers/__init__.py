"""Writers of shards, one module for each file format.

Each module has SUFFIXES (of the files of a shard, ids first), dtype(n_vocab), read(paths, dtype), and Writer(paths,
dtype) with write(ids, ends) and finish(). `pairloom.shards.shards.FORMATS` lists them.
"""
