"""The supervisor: starts Triton, watches it, and replaces what fails."""
