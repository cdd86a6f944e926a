"""The commands of `plates` that make weights; each command has one module."""
