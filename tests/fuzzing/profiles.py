"""Profiles of hypothesis, without a limit on time.

A failure shows its input and the line to repeat it.
"""

import os

from hypothesis import HealthCheck, settings

quick = settings(max_examples=50, deadline=None, database=None, print_blob=True)
brief = settings(quick, max_examples=20)
"""Fewer examples, for properties of the whole pre- and post-processing."""
histories = settings(
    quick,
    max_examples=int(os.environ.get("HISTORIES", "50")),
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""For state machines. `HISTORIES` is the number of histories; `make fuzz` tries many more."""
