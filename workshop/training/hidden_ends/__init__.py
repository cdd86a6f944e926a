"""Training of the small network that tells whether something hides a plate's right end."""
