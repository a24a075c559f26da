"""Stand-ins for the classes of other libraries, with their names, arguments and errors, run by a pairloom Tokenizer."""
