"""Clients by their IP addresses."""

import pytest

from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.clients import client_at


@pytest.mark.parametrize(
    ("address", "name"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", id="IPv4"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="IPv4 mapped into IPv6"),
        pytest.param("64:ff9b::192.0.2.1", "192.0.2.1", id="through a translator (NAT64)"),
        pytest.param("64:ff9b:1::192.0.2.1", "192.0.2.1", id="through a translator of a network"),
        pytest.param("2002:c000:201::7", "192.0.2.1", id="6to4"),
        pytest.param("2001:db8:0:5:1:2:3:4", "2001:db8:0:5::/64", id="IPv6"),
        pytest.param("fe80::1%eth0", "fe80::/64", id="with a network interface"),
        pytest.param("", "unknown", id="not known"),
    ],
)
def test_a_client_is_one_host_or_one_network_of_a_host(address: str, name: str) -> None:
    assert client_at(address, Limits()).name == name


def test_hosts_behind_one_translator_are_clients_of_their_own() -> None:
    one, other = (client_at(f"64:ff9b::192.0.2.{last}", Limits()).name for last in (1, 2))
    assert one != other
