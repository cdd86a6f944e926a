"""The load generator of all benchmarks: callers that send the next request after each answer."""
