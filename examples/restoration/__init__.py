"""Sharpens blurred plates: two networks share the first and the last step, chained by Triton."""
