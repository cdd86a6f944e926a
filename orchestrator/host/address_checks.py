"""Checks of addresses in settings. They may contain passwords, so no message shows one."""

from __future__ import annotations

from urllib.parse import urlsplit

from orchestrator.errors import SettingsError

HELP = "in a user name or password write @ as %40, : as %3A, / as %2F, # as %23 and ? as %3F"


def check_address(name: str, address: str) -> None:
    """Reject an address that cannot be parsed. A path of a file is taken as it is.

    Args:
        name: Name of the setting.
        address: Such as `rtsp://user:password@10.0.0.5:554/stream1`.

    Raises:
        SettingsError: It has control characters, or its host or port cannot be read.
    """
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in address):
        raise SettingsError(f"{name}: wanted an address, got one with a control character")
    if "://" not in address:
        return
    try:
        urlsplit(address).port  # noqa: B018 - it is parsed when it is read
    except ValueError as error:
        raise SettingsError(
            f"{name}: wanted an address like rtsp://user:password@10.0.0.5:554/stream1, "
            f"got one whose host or port cannot be read; {HELP}"
        ) from error
