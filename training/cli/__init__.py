"""The commands of `plates` that make weights: one module a command."""
