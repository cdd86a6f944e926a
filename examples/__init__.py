"""Other pipelines on the same server; each folder is one, with its own model repository."""
