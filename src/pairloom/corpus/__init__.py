"""Corpora: where text comes from, as blocks of documents that the engines take without making a str of each.

Enters: paths, folders, globs, URLs, standard input, iterables of str, data sets. Leaves: blocks of some megabytes of
text with the end of each document. Memory does not grow with the corpus.
"""

from pairloom.corpus.corpus import Block, Corpus, Position, Reading, SkippedFile, is_dataset

__all__ = ["Block", "Corpus", "Position", "Reading", "SkippedFile", "is_dataset"]
