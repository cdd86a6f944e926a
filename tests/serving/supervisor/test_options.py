"""Options for the start of the server: given ones, and those chosen for the machine."""

import pytest

from orchestrator.serving.supervisor import options as asked
from orchestrator.serving.supervisor.options import ServerOptions


def test_a_port_of_zero_becomes_a_free_one(monkeypatch) -> None:
    monkeypatch.setattr(asked, "free_ports", lambda count: list(range(7001, 7001 + count)))
    options = asked.fill_ports(
        ServerOptions(http_port=0, grpc_port=7001, metrics_port=0), taken=[7002, 7004]
    )
    ports = (options.http_port, options.grpc_port, options.metrics_port)
    assert ports == (7003, 7001, 7005)


def test_a_random_key_is_in_no_message() -> None:
    options = ServerOptions()
    assert len(options.admin_key) > 30
    assert options.admin_key not in repr(options)
    assert set(options.admin_headers.values()) == {options.admin_key}


@pytest.mark.parametrize(
    ("host", "reached"),
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
def test_programs_reach_the_server_by_an_address(host: str, reached: str) -> None:
    options = ServerOptions(host=host, http_port=1, grpc_port=2, metrics_port=3)
    assert (options.http_url, options.grpc_url) == (f"{reached}:1", f"{reached}:2")
    assert options.metrics_url == f"http://{reached}:3/metrics"
