"""The command `plates people`."""
