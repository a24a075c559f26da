"""Counting and tokenizing inside engines: datatrove, Dask, Ray and Spark, one module and one extra for each.

A module is imported by name (`from pairloom.engines import dask`) and needs its engine. Workers use one thread each
unless told otherwise: the engine decides how many workers there are. Counts are summed exactly; shards are written by
`pairloom.ShardJob`, so a task that runs twice is not counted twice.
"""
