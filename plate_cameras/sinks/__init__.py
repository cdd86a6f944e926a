"""Sinks: receivers of the events of passes. Each event is delivered at least once."""
