"""Parts that several formats share: the byte alphabet, strict JSON, and the components of a tokenizer.json."""
