"""The whole tokenizer in plain Python: the specification, and the oracle of the tests.

Read in the order in which text passes through:

    documents.py    corpus -> documents      where texts are cut, at special tokens
    pretokens.py    documents -> pretokens   the matches of the pattern, and how often each occurs
    vocabulary.py   ids                      which id a byte, a merge and a special token gets
    naive.py        counts -> merges         training by its definition
    encoder.py      text -> ids -> text      encoding and decoding by theirs
    characters.py    text -> ids             where merging starts with characters, as SentencePiece's does
    special_rules.py   the special tokens that count where some have rules
    offsets.py      ids -> spans             where each token lies in its text
    post_processor.py   ids -> ids      what stands around a text on request
    sessions.py     text -> ids              of a text that grows
    dropout.py      text -> ids, some merges left out at random
    extend.py       model, counts -> model   training that continues from a model's merges
    parity.py       counts of several languages -> merges, by the language that costs most
    prune.py        model, counts -> model   the tokens that a corpus uses least go
    alphabet.py     counts -> merges         over characters, as HuggingFace's trainer does it
    fairness.py     costs of languages -> premiums, Gini coefficient
    incremental.py  the same merges, without counting everything again after each one

Everything here speaks ids and needs only the `regex` package. Nothing here is fast: every faster
engine must give exactly what these functions give.
"""

from pairloom._internal.optional_deps import import_optional

import_optional("regex", "pairloom.reference")
