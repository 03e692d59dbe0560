"""Ranked search: lexical, vector, and both fused by reciprocal rank."""

from knowledge_nb.retrieval.search import search
from knowledge_nb.retrieval.tier import DegradedSearchWarning, tier_line

__all__ = ["DegradedSearchWarning", "search", "tier_line"]
