"""Benchmarks of the product: a server under load, other servers, faults, two commits, a GPU."""
