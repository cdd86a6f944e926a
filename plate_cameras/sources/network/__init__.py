"""Addresses of cameras, what they may open, and what fails on the way to them."""
