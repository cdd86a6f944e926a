"""`plates bench`: a server under load, its parts, and the bound without a server."""
