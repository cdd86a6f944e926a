"""Free ports and addresses of this machine."""

import errno
import socket
from contextlib import ExitStack

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor import ports
from orchestrator.serving.supervisor.ports import (
    ASSIGNABLE,
    ListenAddress,
    address_of,
    check_listening,
    free_ports,
)


def test_ports_are_free_each_another_and_none_that_a_connection_may_be_given() -> None:
    assert free_ports(0) == []
    found = free_ports(50)
    assert len(set(found)) == 50
    assert set(found) <= set(ASSIGNABLE)
    assert max(ASSIGNABLE) < 32_768
    with ExitStack() as servers:
        _ = [servers.enter_context(socket.create_server(("127.0.0.1", port))) for port in found]


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_a_port_in_use_is_left_out(monkeypatch, host: str, family: socket.AddressFamily) -> None:
    taken, free = free_ports(2)
    monkeypatch.setattr(ports, "ASSIGNABLE", (taken, free))
    with socket.create_server((host, taken), family=family):
        assert free_ports(2) == [free]


@pytest.mark.parametrize("host", ["", "a b", "no-such-host.invalid", "a..b", "::x"])
def test_a_host_without_an_address_is_refused(host: str) -> None:
    with pytest.raises(ServerError, match=f"^host: wanted an IP address .*, got '{host}'$"):
        address_of(host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", "127.0.0.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("::", "::"),
        ("0:0::1", "::1"),
    ],
)
def test_a_host_becomes_its_address(host: str, expected: str) -> None:
    assert address_of(host) == expected


def test_a_port_in_use_is_named_with_its_flag() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:  # a port of the kernel's choice
        listen_address = ListenAddress("metrics_port", "127.0.0.1", taken.getsockname()[1])
        with pytest.raises(ServerError, match=r"^metrics_port: wanted a free port.*metrics-port$"):
            check_listening([listen_address])


@pytest.mark.parametrize("port", [0, 99999])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(ServerError, match=f"^grpc_port: wanted 1 to 65535, got {port}$"):
        check_listening([ListenAddress("grpc_port", "127.0.0.1", port)])


@pytest.mark.parametrize(
    ("wanted", "host", "both", "reason"),
    [
        pytest.param("127.0.0.1", "::1", False, r"\(in use at ::1.*--grpc-port$", id="IPv6"),
        pytest.param("127.0.0.1", "::", True, r"\(Addr", id="both families"),
        pytest.param("::1", "::1", False, r"\(Addr.*--grpc-port$", id="IPv6 alone"),
    ],
)
def test_a_port_that_callers_of_localhost_reach_elsewhere_is_refused(
    wanted: str, host: str, both: bool, reason: str
) -> None:
    (port,) = free_ports(1)
    with (
        socket.create_server((host, port), family=socket.AF_INET6, dualstack_ipv6=both),
        pytest.raises(ServerError, match=rf"^grpc_port: wanted a free port, got {port} {reason}"),
    ):
        check_listening([ListenAddress("grpc_port", wanted, port)])


def test_a_port_without_the_right_to_open_it_is_refused(monkeypatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")  # what the kernel tells a user

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(ServerError, match=r"^http_port: wanted a port that this user may open, g"):
        check_listening([ListenAddress("http_port", "127.0.0.1", 80)])


def test_two_that_want_one_port_are_refused() -> None:
    wanted = [ListenAddress("http_port", "127.0.0.1", 7000), ListenAddress("grpc_port", "::", 7000)]
    message = "^grpc_port: wanted another port than http_port, got 7000 for both$"
    with pytest.raises(ServerError, match=message):
        check_listening(wanted)


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::7"])
def test_an_address_of_another_machine_is_refused_by_its_option(host: str) -> None:
    with pytest.raises(ServerError, match=f"^metrics_host: wanted an address .*, got {host}$"):
        # RFC 5737 and 3849: nobody's addresses.
        check_listening([ListenAddress("metrics_port", host, 7000, "metrics_host")])
