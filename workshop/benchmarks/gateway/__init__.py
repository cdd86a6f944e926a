"""Benchmark of the gateway: its cost per call, and the service under a flood of callers."""
