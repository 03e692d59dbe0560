"""Set membership: the closed query language, enumerate, the vocabulary."""
