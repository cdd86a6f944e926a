"""Options for the start: given ones, those chosen for the machine, and free ports."""

import errno
import socket
from contextlib import ExitStack

import pytest

from orchestrator.errors import ServerError
from orchestrator.serving.supervisor import options as options_module
from orchestrator.serving.supervisor import ports
from orchestrator.serving.supervisor.capacity import Capacity, fitting, fitting_gpu
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import (
    ASSIGNABLE,
    ListenAddress,
    address_of,
    check_listening,
    free_ports,
)


def test_a_port_of_zero_becomes_a_free_one(monkeypatch) -> None:
    monkeypatch.setattr(options_module, "free_ports", lambda count: list(range(7001, 7001 + count)))
    options = options_module.fill_ports(
        ServerOptions(http_port=0, grpc_port=7001, metrics_port=0), taken_ports=[7002, 7004]
    )
    ports = (options.http_port, options.grpc_port, options.metrics_port)
    assert ports == (7003, 7001, 7005)


def test_a_random_key_is_in_no_message() -> None:
    options = ServerOptions()
    assert len(options.admin_key) > 30
    assert options.admin_key not in repr(options)
    assert set(options.admin_headers.values()) == {options.admin_key}


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("127.8.8.8", "127.8.8.8"),
        ("::1", "[::1]"),
        ("::", "[::1]"),
        ("192.0.2.7", "192.0.2.7"),
    ],
)
def test_programs_reach_the_server_by_an_address(host: str, address: str) -> None:
    options = ServerOptions(host=host, http_port=1, grpc_port=2, metrics_port=3)
    assert (options.http_url, options.grpc_url) == (f"{address}:1", f"{address}:2")
    assert options.metrics_url == f"http://{address}:3/metrics"


@pytest.mark.parametrize(
    ("cores", "capacity"),
    [
        (1, Capacity(threads=1, instances=1, pictures=2)),
        (2, Capacity(threads=2, instances=2, pictures=3)),
        (4, Capacity(threads=4, instances=2, pictures=3)),
        (16, Capacity(threads=4, instances=8, pictures=9)),
    ],
)
def test_workers_grow_with_the_cores(cores: int, capacity: Capacity) -> None:
    assert fitting(cores) == capacity


def test_what_is_asked_for_is_kept() -> None:
    assert fitting(8, threads=3, pictures=6) == Capacity(threads=3, instances=4, pictures=6)
    assert fitting(2, instances=4, pictures=3) == Capacity(threads=2, instances=4, pictures=3)
    assert fitting(8, pictures=1).instances == 1
    assert fitting(2, instances=4) == Capacity(threads=2, instances=4, pictures=5)


def test_a_gpu_gets_more_pictures_than_there_are_cores() -> None:
    fits = fitting_gpu(16)
    assert (fits.pictures, fits.instances, fits.threads) == (24, 2, 16)
    assert [fitting_gpu(cores).pictures for cores in (1, 8, 256)] == [4, 12, 64]
    assert fitting_gpu(16, pictures_on_gpu=True).pictures == 4


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_in_one_model_each_core_has_a_picture_with_networks_of_its_own(cores: int) -> None:
    threads = min(cores, 4)
    assert fitting(cores, is_one_model=True) == Capacity(threads, cores, cores, is_one_model=True)
    assert fitting(cores, pictures=3, is_one_model=True).instances == 3


def test_ports_are_free_each_another_and_none_that_a_connection_may_be_given() -> None:
    assert free_ports(0) == []
    numbers = free_ports(50)
    assert len(set(numbers)) == 50
    assert set(numbers) <= set(ASSIGNABLE)
    assert max(ASSIGNABLE) < 32_768
    with ExitStack() as servers:
        _ = [servers.enter_context(socket.create_server(("127.0.0.1", port))) for port in numbers]


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_a_port_in_use_is_left_out(monkeypatch, host: str, family: socket.AddressFamily) -> None:
    taken_port, free_port = free_ports(2)
    monkeypatch.setattr(ports, "ASSIGNABLE", (taken_port, free_port))
    with socket.create_server((host, taken_port), family=family):
        assert free_ports(2) == [free_port]


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
    with socket.create_server(("127.0.0.1", 0)) as server:  # a port of the kernel's choice
        listen_address = ListenAddress("metrics_port", "127.0.0.1", server.getsockname()[1])
        with pytest.raises(ServerError, match=r"^metrics_port: wanted a free port.*metrics-port$"):
            check_listening([listen_address])


@pytest.mark.parametrize("port", [0, 99999])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(ServerError, match=f"^grpc_port: wanted 1 to 65535, got {port}$"):
        check_listening([ListenAddress("grpc_port", "127.0.0.1", port)])


@pytest.mark.parametrize(
    ("listen_host", "host", "is_dual", "reason"),
    [
        pytest.param("127.0.0.1", "::1", False, r"\(in use at ::1.*--grpc-port$", id="IPv6"),
        pytest.param("127.0.0.1", "::", True, r"\(Addr", id="both families"),
        pytest.param("::1", "::1", False, r"\(Addr.*--grpc-port$", id="IPv6 alone"),
    ],
)
def test_a_port_that_callers_of_localhost_reach_elsewhere_is_refused(
    listen_host: str, host: str, is_dual: bool, reason: str
) -> None:
    (port,) = free_ports(1)
    with (
        socket.create_server((host, port), family=socket.AF_INET6, dualstack_ipv6=is_dual),
        pytest.raises(ServerError, match=rf"^grpc_port: wanted a free port, got {port} {reason}"),
    ):
        check_listening([ListenAddress("grpc_port", listen_host, port)])


def test_a_port_without_the_right_to_open_it_is_refused(monkeypatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")  # what the kernel tells a user

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(ServerError, match=r"^http_port: wanted a port that this user may open, g"):
        check_listening([ListenAddress("http_port", "127.0.0.1", 80)])


def test_two_that_want_one_port_are_refused() -> None:
    addresses = [
        ListenAddress("http_port", "127.0.0.1", 7000),
        ListenAddress("grpc_port", "::", 7000),
    ]
    message = "^grpc_port: wanted another port than http_port, got 7000 for both$"
    with pytest.raises(ServerError, match=message):
        check_listening(addresses)


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::7"])
def test_an_address_of_another_machine_is_refused_by_its_option(host: str) -> None:
    with pytest.raises(ServerError, match=f"^metrics_host: wanted an address .*, got {host}$"):
        # RFC 5737 and 3849: nobody's addresses.
        check_listening([ListenAddress("metrics_port", host, 7000, "metrics_host")])
