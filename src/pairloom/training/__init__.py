"""Training: counts of pretokens become merges and a `Model`. `train` holds the entry points, `config` the options."""
