"""Passes of clips, compared with their truth."""
