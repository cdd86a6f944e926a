"""Measures finding and reading on labelled pictures, in this process or through a server."""
