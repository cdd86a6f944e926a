"""Runs a Triton server of our own: prepares its models, starts it and keeps it running."""
