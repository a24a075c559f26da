"""Counts of pretokens, which are all that training needs of a corpus, and the files that store them."""
