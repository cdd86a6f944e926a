"""The same work composed in several ways on one server, and why one way is quicker than another.

`python -m benchmarks.compositions` measures; docs/why/compositions.md says how, and what came out.
"""

OUTPUTS = ("coordinates", "texts", "text_scores", "detection_scores")
"""What every composition of the plate chain answers, and all that is asked for."""
