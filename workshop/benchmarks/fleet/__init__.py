"""Simulates the events of a thousand cameras, without video."""
