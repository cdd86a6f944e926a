"""What gates did, and why."""
