"""The figures of the pages, measured by one command."""
