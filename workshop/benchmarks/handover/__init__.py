"""Shares cameras between watchers, disturbs them, and compares what is stored with the truth."""
