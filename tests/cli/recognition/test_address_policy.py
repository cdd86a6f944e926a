"""Addresses to which the URLs of pictures may lead."""

import socket
from typing import Any

import pytest

from orchestrator.cli.recognition.address_policy import AddressPolicy, GuardedConnector
from orchestrator.errors import PictureError

PUBLIC, OTHER = "93.184.215.14", "1.1.1.1"


@pytest.fixture
def known_hosts(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Addresses by host name, filled by tests in place of DNS."""
    addresses: dict[str, list[str]] = {}

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return addresses


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses to which connections were made."""
    attempts: list[str] = []

    def connect(address: tuple[str, int], _timeout_s: float | None) -> str:
        attempts.append(address[0])
        if address[0] == OTHER:
            raise ConnectionRefusedError("refused")
        return "a socket"

    monkeypatch.setattr(socket, "create_connection", connect)
    return attempts


def test_connections_go_to_the_address_that_was_checked(known_hosts, connections) -> None:
    known_hosts["rebinding.example"] = [PUBLIC]
    gate = GuardedConnector(AddressPolicy.PUBLIC)
    gate.connect("rebinding.example", 80, 1)
    known_hosts["rebinding.example"] = ["127.0.0.1"]
    with pytest.raises(PictureError, match=r"got 127\.0\.0\.1 for rebind\S+; --private-add"):
        gate.connect("rebinding.example", 80, 1)
    assert connections == [PUBLIC]


def test_of_several_addresses_private_ones_are_passed_over(known_hosts, connections) -> None:
    known_hosts["several.example"] = ["10.0.0.1", OTHER, PUBLIC]
    GuardedConnector(AddressPolicy.PUBLIC).connect("several.example", 80, 1)
    assert connections == [OTHER, PUBLIC]


def test_no_address_that_answers_is_an_error(known_hosts, connections) -> None:
    known_hosts["down.example"] = [OTHER]
    with pytest.raises(ConnectionRefusedError):
        GuardedConnector(AddressPolicy.PUBLIC).connect("down.example", 80, 1)


def test_a_typed_private_host_is_reached_again_and_no_other(known_hosts, connections) -> None:
    known_hosts |= {"camera": ["192.168.1.9"], "router": ["192.168.1.1"], "web": [PUBLIC]}
    gate = GuardedConnector(AddressPolicy.TYPED)
    for host in ("camera", "camera", "web"):
        gate.connect(host, 80, 1)
    with pytest.raises(PictureError, match=r"got 192\.168\.1\.1 for router"):
        gate.connect("router", 80, 1)
    assert connections == ["192.168.1.9", "192.168.1.9", PUBLIC]


def test_a_typed_public_host_leads_to_no_private_one(known_hosts, connections) -> None:
    known_hosts["web"] = [PUBLIC]
    gate = GuardedConnector(AddressPolicy.TYPED)
    gate.connect("web", 80, 1)
    known_hosts["web"] = ["127.0.0.1"]
    with pytest.raises(PictureError, match="wanted a public address"):
        gate.connect("web", 80, 1)
