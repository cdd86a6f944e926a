"""Measurements beside the product: rivals of its form, its stages."""

OUTPUTS = ("coordinates", "texts", "text_scores", "detection_scores")
"""What every form of the service answers here, and all that is asked for."""
