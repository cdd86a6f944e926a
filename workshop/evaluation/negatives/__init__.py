"""Texts that are shown where no plate is."""
