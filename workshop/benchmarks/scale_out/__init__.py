"""Measures replicas behind a balancer: the cost of failures, the gain of more replicas."""
