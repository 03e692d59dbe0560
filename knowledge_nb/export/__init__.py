"""Whole answers as files: CSV, JSON, JSON Lines, Parquet; each with a side file to verify it by."""
