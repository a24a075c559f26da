"""Shards: a corpus encoded to files of token ids, with a manifest.

`tokenize_files` is the entry point, `resume` continues an interrupted run, `shards` divides the stream of ids into
files, and `writers` holds one module for each file format.
"""
