"""Counts of pretokens, which are all that training needs from a corpus, and the files that store them."""
