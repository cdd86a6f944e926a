"""Deletions: by age, and on the request of a person."""
