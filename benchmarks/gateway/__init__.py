"""What the gateway costs, and what a flood of callers does with and without it."""
