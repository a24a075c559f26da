"""Training: turns counts of pretokens into merges and a `Model`. `train` has the entry points, `config` the options."""
