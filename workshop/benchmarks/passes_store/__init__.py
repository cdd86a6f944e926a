"""Measures the store of passes: filling, searching, writing, and its size."""
