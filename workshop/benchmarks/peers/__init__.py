"""Benchmark of the peers: the same pipeline behind other servers, under the same load."""
