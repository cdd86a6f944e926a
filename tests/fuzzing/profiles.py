"""How hypothesis tries a property: other inputs in each run, however slow the machine is.

A failure shows its input, and the line that repeats it.
"""

from hypothesis import settings

quick = settings(max_examples=50, deadline=None, database=None, print_blob=True)
brief = settings(quick, max_examples=20)
"""For what runs networks' pre- and post-processing as a whole."""
