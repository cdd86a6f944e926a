"""Plates whose right end is hidden, and that are read as shorter ones."""
