"""Follows plates from frame to frame: motion, assignment, and what is kept of a pass."""
