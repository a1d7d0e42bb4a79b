"""Incremental checking after an edit: parse and check only what it may have changed."""
