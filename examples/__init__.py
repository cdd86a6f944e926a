"""Other pipelines on the same server; each folder is one, with a model repository of its own."""
