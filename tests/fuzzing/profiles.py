"""How hypothesis tries a property: the same inputs each time, however slow the machine is."""

from hypothesis import settings

quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)
brief = settings(quick, max_examples=25)
"""For what runs networks' pre- and post-processing as a whole."""
