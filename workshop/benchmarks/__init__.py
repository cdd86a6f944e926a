"""Benchmarks of the product: a server under load, compositions, several servers, a GPU.

An error of any part is a `PlateError`, which the commands show as one sentence.
"""
