"""Analyses tokenizers and corpora: statistics, comparison with other libraries, inspection, plots."""
