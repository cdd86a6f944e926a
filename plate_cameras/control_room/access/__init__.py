"""Roles of keys and people, and sessions."""
