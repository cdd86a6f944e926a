"""Sources: streams and files, decoded in watched processes."""
