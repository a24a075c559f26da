"""Writers of shards, one module for each file format.

Each module has SUFFIXES (of the files of a shard, ids first), dtype(n_vocab), read(files, dtype), and Writer(paths,
dtype) with write(ids, ends) and finish(). `pairloom.shards.files.FORMATS` lists them.
"""
