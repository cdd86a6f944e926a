import socket

from orchestrator.server import ports
from orchestrator.server.ports import ASSIGNABLE, free_ports


def test_no_ports_are_asked_for() -> None:
    assert free_ports(0) == []


def test_ports_are_free_and_each_is_another() -> None:
    found = free_ports(5)
    assert len(set(found)) == 5
    servers = [socket.create_server(("127.0.0.1", port)) for port in found]
    assert [server.close() for server in servers] == [None] * 5


def test_no_port_is_one_that_a_connection_may_be_given() -> None:
    assert set(free_ports(50)) <= set(ASSIGNABLE)
    assert max(ASSIGNABLE) < 32_768


def test_a_port_in_use_is_left_out(monkeypatch) -> None:
    taken, free = free_ports(2)
    monkeypatch.setattr(ports, "ASSIGNABLE", (taken, free))
    with socket.create_server(("127.0.0.1", taken)):
        assert free_ports(2) == [free]
