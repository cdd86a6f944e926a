"""How hypothesis tries a property: other inputs in each run, however slow the machine is.

A failure shows its input, and the line that repeats it.
"""

import os

from hypothesis import HealthCheck, settings

quick = settings(max_examples=50, deadline=None, database=None, print_blob=True)
brief = settings(quick, max_examples=20)
"""For what runs networks' pre- and post-processing as a whole."""
histories = settings(
    quick,
    max_examples=int(os.environ.get("HISTORIES", "150")),
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""For state machines. `HISTORIES` says how many are tried; `make fuzz` tries many more."""
