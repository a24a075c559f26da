"""Code shared by several formats: the byte alphabet, strict JSON, and the components of a tokenizer.json."""
