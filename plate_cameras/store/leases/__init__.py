"""The assignment of cameras to watchers."""
