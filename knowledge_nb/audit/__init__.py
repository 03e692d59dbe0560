"""Auditing: statistics on a snapshot, coverage of term lists, disk against index."""
