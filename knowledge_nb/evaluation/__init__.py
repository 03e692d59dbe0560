"""Comparing rankings: runs, measures, comparisons, explanations."""
