"""Sharpen blurred plates: one preparation and one ending for two networks, chained by Triton."""
