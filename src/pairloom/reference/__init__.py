"""The whole tokenizer in plain Python: the specification, and the oracle of the tests.

The modules, in the order in which text passes through them:

    documents.py       corpus -> documents     cuts texts at special tokens
    pretokens.py       documents -> pretokens  finds the matches of the pattern and counts them
    vocabulary.py      ids                     assigns ids to bytes, merges and special tokens
    naive.py           counts -> merges        trains by the definition
    encoder.py         text -> ids -> text     encodes and decodes by the definition
    characters.py      text -> ids             encodes by merging characters, as SentencePiece does
    special_rules.py   text -> pieces          finds special tokens that have rules
    offsets.py         ids -> spans            locates each token in its text
    post_processor.py  ids -> ids              puts special tokens around a text on request
    sessions.py        text -> ids             encodes a text that grows
    dropout.py         text -> ids             encodes with merges skipped at random
    extend.py          model, counts -> model  continues training from a model's merges
    parity.py          counts -> merges        trains for several languages, helping the one that costs most
    prune.py           model, counts -> model  removes the tokens that a corpus uses least
    alphabet.py        counts -> merges        trains over characters, as HuggingFace's trainer does
    fairness.py        costs -> figures        computes premiums and the Gini coefficient of languages
    incremental.py     words -> merges         trains by updating pair counts instead of recounting

Everything here works on ids and needs only the `regex` package. Nothing here is fast: every faster engine must return
exactly what these functions return.
"""

from pairloom._internal.optional_deps import import_optional

import_optional("regex", "pairloom.reference")
