"""Ranked search: lexical, vector, and both fused by reciprocal rank."""
