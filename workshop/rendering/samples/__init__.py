"""Rendered crops of plates for the reader, with the errors of a detector and of each pass."""
