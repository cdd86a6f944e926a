"""Measurements beside the product: load on a server, its compositions, many servers, a GPU."""
