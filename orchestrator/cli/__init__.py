"""The command line `plates`, with one module for each command."""
