"""Decides who asks."""

from __future__ import annotations

from orchestrator.control_room.access.principals import Principal, Role
from orchestrator.gateway.errors import GatewayError
from orchestrator.gateway.http.endpoint import HttpRequest


class Forbidden(GatewayError):  # noqa: N818 - named after the status
    """The principal's role or groups do not allow it."""

    status, code, reason = 403, "PERMISSION_DENIED", "role"


class AccessPolicy:
    """Finds the principal of a request.

    Args:
        wants_keys: Callers of the gateway need keys.
    """

    def __init__(self, wants_keys: bool) -> None:
        self._wants_keys = wants_keys

    async def principal_of(self, request: HttpRequest) -> Principal:
        """Return the principal of an admitted request.

        Without keys, every caller is the administrator `local`.

        Raises:
            Forbidden: The caller may not use the control room.
        """
        if self._wants_keys:
            raise Forbidden("this key has no role; give it one in the file of keys")
        return Principal("local", Role.ADMINISTRATOR)
