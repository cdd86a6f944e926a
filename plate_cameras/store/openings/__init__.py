"""The record of what gates did, and why."""
