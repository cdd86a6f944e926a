"""The corpus: everything hostile that is made here, by its name. Nothing of it is kept in files."""

from tests.fuzzing.hostile_calls import Requests, calls
from tests.fuzzing.hostile_forms import forms
from tests.fuzzing.hostile_messages import messages
from tests.fuzzing.hostile_pictures import pictures
from tests.fuzzing.hostile_snapshots import snapshots

__all__ = ["pictures", "requests"]


def requests() -> Requests:
    """Return every request to the gateway."""
    return calls() | messages() | forms() | snapshots()
