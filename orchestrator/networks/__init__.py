"""The networks: one registry, one module each, their weights, and what runs them."""
