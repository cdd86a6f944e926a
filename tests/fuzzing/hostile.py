"""The corpus of hostile inputs by name. It is generated; no files are kept."""

from tests.fuzzing.hostile_calls import Requests, calls
from tests.fuzzing.hostile_forms import forms
from tests.fuzzing.hostile_messages import messages
from tests.fuzzing.hostile_pictures import pictures
from tests.fuzzing.hostile_snapshots import snapshots

__all__ = ["pictures", "requests"]


def requests() -> Requests:
    """Return all hostile requests to the gateway."""
    return calls() | messages() | forms() | snapshots()
