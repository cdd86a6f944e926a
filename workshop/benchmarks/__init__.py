"""Benchmarks of the product: a server under load, compositions, several servers, a GPU."""
