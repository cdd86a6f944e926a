"""The errors of the store."""

from __future__ import annotations

from orchestrator.errors import PlateError


class StoreError(PlateError):
    """The store cannot do what was asked."""


class StoreUnavailable(StoreError):  # noqa: N818 - a state of the store, not a fault
    """The database or the pictures' storage cannot be used now; a retry may help."""


class RejectedValue(StoreError):  # noqa: N818 - named after the cause
    """The database does not accept a value; a retry does not help."""


class UnknownName(StoreError):  # noqa: N818 - named after the cause
    """There is no list or pass of this name."""


class NameTaken(StoreError):  # noqa: N818 - named after the cause
    """There is a person or list of this name already."""


class SharedList(StoreError):  # noqa: N818 - named after the cause
    """Cameras of other groups use a list, too, so that one group may not change it."""


class ChangedMeanwhile(StoreError):  # noqa: N818 - named after the cause
    """Somebody else has changed a list during a call. Nothing was changed; a retry may help."""
