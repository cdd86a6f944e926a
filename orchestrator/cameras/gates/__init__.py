"""Gates: what opens when a pass hits a list."""
