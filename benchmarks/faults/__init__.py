"""Faults made on purpose under load, and what the callers of a real service noticed of each."""
