"""Clients by their IP addresses, also behind proxies."""

import pytest

from orchestrator.serving.gateway.options import Limits
from orchestrator.serving.gateway.policy.clients import client_at
from orchestrator.serving.gateway.policy.trusted_proxies import TrustedProxies

PROXY = "10.0.0.5"
PROXIES = TrustedProxies(["10.0.0.0/24", "2001:db8::5"])


@pytest.mark.parametrize(
    ("address", "name"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", id="IPv4"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="IPv4 mapped into IPv6"),
        pytest.param("64:ff9b::192.0.2.1", "192.0.2.1", id="through a translator (NAT64)"),
        pytest.param("64:ff9b::192.0.2.2", "192.0.2.2", id="another through the same"),
        pytest.param("64:ff9b:1::192.0.2.1", "192.0.2.1", id="through a translator of a network"),
        pytest.param("2002:c000:201::7", "192.0.2.1", id="6to4"),
        pytest.param("2001:db8:0:5:1:2:3:4", "2001:db8:0:5::/64", id="IPv6"),
        pytest.param("fe80::1%eth0", "fe80::/64", id="with a network interface"),
        pytest.param("", "unknown", id="not known"),
    ],
)
def test_a_client_is_one_host_or_one_network_of_a_host(address: str, name: str) -> None:
    assert client_at(address, Limits()).name == name


def forwarded(*values: str) -> list[tuple[str, str]]:
    return [("host", "plates"), *(("x-forwarded-for", value) for value in values)]


@pytest.mark.parametrize(
    ("peer", "values", "client"),
    [
        pytest.param(PROXY, ["192.0.2.1"], "192.0.2.1", id="one"),
        pytest.param("::ffff:10.0.0.5", ["192.0.2.1"], "192.0.2.1", id="peer mapped into IPv6"),
        pytest.param("2001:db8::5", ["2001:db8:7::1"], "2001:db8:7::1", id="IPv6"),
        pytest.param(PROXY, ["198.51.100.7, 192.0.2.1"], "192.0.2.1", id="forged first"),
        pytest.param(PROXY, ["198.51.100.7", "192.0.2.1"], "192.0.2.1", id="forged field"),
        pytest.param(PROXY, ["192.0.2.1, 10.0.0.6"], "192.0.2.1", id="two proxies"),
        pytest.param(PROXY, ["192.0.2.1:4711"], "192.0.2.1", id="with a port"),
        pytest.param(PROXY, ["[2001:db8:7::1]:4711"], "2001:db8:7::1", id="IPv6 with a port"),
        pytest.param(PROXY, ["192.0.2.1, unknown"], PROXY, id="no address"),
        pytest.param(PROXY, ["192.0.2.1, unknown, 10.0.0.6"], "10.0.0.6", id="no address before"),
        pytest.param(PROXY, [""], PROXY, id="empty"),
        pytest.param(PROXY, [], PROXY, id="nothing told"),
        pytest.param(PROXY, ["1.1.1.1, " + "10.0.0.9," * 1000 + "10.0.0.7"], "10.0.0.9", id="many"),
        pytest.param("192.0.2.9", ["198.51.100.7"], "192.0.2.9", id="peer is not trusted"),
        pytest.param("", ["198.51.100.7"], "", id="peer is not known"),
    ],
)
def test_the_client_is_the_last_that_no_trusted_proxy_is(
    peer: str, values: list[str], client: str
) -> None:
    assert PROXIES.client_of(peer, forwarded(*values)) == client


def test_without_trusted_proxies_headers_tell_nothing() -> None:
    proxies = TrustedProxies()
    assert proxies.client_of("127.0.0.1", forwarded("192.0.2.1")) == "127.0.0.1"
    assert not proxies.trusts("127.0.0.1")


def test_only_addresses_and_networks_are_trusted() -> None:
    with pytest.raises(ValueError, match="proxy"):
        TrustedProxies(["proxy.example"])
