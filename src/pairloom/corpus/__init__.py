"""Corpora: files, folders, globs, URLs, standard input, iterables of str and data sets, read as blocks of documents.

A block holds a few megabytes of UTF-8 text and the end of each document, and goes to the core without a str for each
document. Memory does not grow with the corpus.
"""

from pairloom.corpus.corpus import Block, Corpus, Position, Reading, SkippedFile, check_not_of_corpus, is_dataset

__all__ = ["Block", "Corpus", "Position", "Reading", "SkippedFile", "check_not_of_corpus", "is_dataset"]
