"""Compares several compositions of the same work on one server, and explains their speed.

`python -m workshop.benchmarks.compositions` measures. docs/why/compositions.md has the method and
results.
"""

OUTPUTS = ("coordinates", "texts", "text_scores", "detection_scores")
"""The outputs of every composition of the plate chain; calls ask for these alone."""
