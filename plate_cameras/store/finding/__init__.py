"""Searches, exports and counts of stored passes."""
