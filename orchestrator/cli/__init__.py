"""The command line `plates`: one module a command."""
