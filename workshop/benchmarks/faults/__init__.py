"""Injects faults into a real service under load and measures their effect on the callers."""
