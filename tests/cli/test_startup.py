"""The checks of `plates serve` before its start, its message when ready, and word to systemd."""

import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli import startup
from orchestrator.cli.app import app
from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.cli.startup import SOCKET, check_services, report_ready, welcome
from orchestrator.errors import ServerError, SettingsError
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor import service_loop
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports

TRITON = ServerOptions(http_port=0, grpc_port=0, metrics_port=0, device="cpu", caller_key="door")
FLAGS = GatewayFlags(http_port=0, grpc_port=0, metrics_port=0)


@pytest.fixture
def foreign_repository(tmp_path: Path) -> Path:
    """A model repository that lacks our models."""
    (tmp_path / "double").mkdir()
    (tmp_path / "double" / "config.pbtxt").write_text('backend: "python"')
    return tmp_path


def test_the_gateway_is_told_how_to_call_triton() -> None:
    options, gateway = check_services(TRITON, FLAGS)
    assert gateway.triton_http == f"127.0.0.1:{options.http_port}"
    assert gateway.triton_headers == options.caller_headers
    assert gateway.served_models == ("plate_recognition", "plate_reader")
    fronts = (gateway.http, gateway.grpc, gateway.metrics)
    ports = {options.http_port, options.grpc_port, options.metrics_port}
    assert len(ports | {address.port for address in fronts} | {0}) == 7


def test_a_hangup_during_the_start_ends_nothing(monkeypatch, tmp_path: Path) -> None:
    def hang_up(*_: object) -> None:
        signal.getsignal(signal.SIGHUP)(signal.SIGHUP, None)
        raise ServerError("the start went on")

    monkeypatch.setattr(service_loop, "TERMINAL", tmp_path / "tty")
    monkeypatch.setattr(startup, "check_services", hang_up)
    before = signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        with pytest.raises(ServerError, match="the start went on"):
            startup.run_services(TRITON, FLAGS)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_no_port_is_wanted_twice() -> None:
    (port,) = free_ports(1)
    with pytest.raises(ServerError, match=r"^admin_port: wanted another port than http_port, got"):
        check_services(replace(TRITON, http_port=port), replace(FLAGS, http_port=port))


def test_models_of_others_are_served_by_their_names(foreign_repository: Path) -> None:
    flags = replace(FLAGS, models=("double",))
    options, gateway = check_services(replace(TRITON, repository=foreign_repository), flags)
    assert (gateway.has_plates, gateway.served_models) == (False, ("double",))
    message = welcome(options, gateway)
    assert "models: double\n" in message
    assert f"curl http://localhost:{gateway.http.port}/v2/models/NAME\n" in message
    assert "page" not in message
    _, gateway = check_services(replace(TRITON, beside=(foreign_repository,)), flags)
    assert gateway.served_models == ("plate_recognition", "plate_reader", "double")


@pytest.mark.parametrize(
    ("models", "message"),
    [
        pytest.param((), "^model: wanted --model NAME .*, of double, or --no-gateway", id="none"),
        pytest.param(("triple",), "^model: wanted some of double, got triple$", id="unknown"),
    ],
)
def test_a_gateway_without_a_model_is_refused(
    models: tuple[str, ...], message: str, foreign_repository: Path
) -> None:
    with pytest.raises(SettingsError, match=message):
        check_services(
            replace(TRITON, repository=foreign_repository), replace(FLAGS, models=models)
        )


def test_bare_triton_is_said_to_be_bare(foreign_repository: Path) -> None:
    options, gateway = check_services(replace(TRITON, repository=foreign_repository), None)
    assert gateway is None
    message = welcome(options, None)
    assert "bare Triton, without the gateway\n" in message
    assert "models: double\n" in message
    assert "/v1/recognize" not in message
    assert "street.jpg --url localhost:8000\n" in welcome(ServerOptions(), None)


@pytest.fixture
def serve() -> Callable[..., str]:
    """Run the command where it cannot start; return its error message."""

    def run(*flags: str) -> str:
        result = CliRunner().invoke(app, ["serve", *flags], env={"PLATES_ADMIN_KEY": ""})
        assert result.exit_code == 2
        return re.sub(r"\s+", " ", result.stderr)

    return run


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(
            ["--explicit"], "plates: explicit: wanted PLATES_ADMIN_KEY, got none", id="key"
        ),
        pytest.param(
            ["--host=0.0.0.0", "--no-gateway", "--http-port=0", "--grpc-port=0"],
            "plates: host: wanted an address of this machine alone for bare Triton, got 0.0.0.0",
            id="triton-for-others",
        ),
        pytest.param(
            ["--host=0.0.0.0", "--http-port=1", "--grpc-port=0", "--metrics-port=0"],
            "plates: keys: others can reach 0.0.0.0:1; make API keys and name their file",
            id="nothing-of-keys",
        ),
        pytest.param(
            ["--tritonserver=/nowhere", "--http-port=0", "--grpc-port=0", "--metrics-port=0"],
            "plates: tritonserver: wanted a program that can be run, got /nowhere",
            id="no-such-triton",
        ),
        pytest.param(
            ["--one-model", "--model=yolo", "--http-port=0", "--grpc-port=0", "--metrics-port=0"],
            "plates: model: wanted some of plate_reader, plate_recognition, got yolo",
            id="a-network-in-one-model",
        ),
        pytest.param(
            ["--one-model", "--device=gpu", "--http-port=0", "--grpc-port=0", "--metrics-port=0"],
            "plates: wanted --one-model on a CPU, got a GPU",
            id="one-model-on-a-gpu",
        ),
    ],
)
def test_a_server_that_cannot_start_is_one_sentence(serve, flags: list[str], message: str) -> None:
    assert serve(*flags).startswith(message)


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    """Yield a socket that stands in for systemd's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as systemd:
        systemd.bind(address)
        yield systemd


def test_systemd_is_told_once(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with listening(address) as systemd:
        report_ready({SOCKET: address})
        assert systemd.recv(100) == b"READY=1"
        with pytest.raises(BlockingIOError):
            systemd.recv(100)


def test_an_abstract_socket_is_named_with_an_at_sign(tmp_path: Path) -> None:
    with listening(f"\0{tmp_path}") as systemd:
        report_ready({SOCKET: f"@{tmp_path}"})
        assert systemd.recv(100) == b"READY=1"


def test_a_socket_that_is_gone_is_logged_and_none_is_not(tmp_path: Path, caplog) -> None:
    for address in ("", str(tmp_path / "gone")):
        report_ready({SOCKET: address})
    report_ready({})
    assert caplog.messages == [
        "systemd was not told that the service is ready: No such file or directory"
    ]


def test_the_welcome_names_one_set_of_ports() -> None:
    lines = welcome(ServerOptions(), GatewayOptions()).splitlines()
    assert lines[:8] == [
        "ready",
        "  page     http://localhost:8000/",
        "  REST     http://localhost:8000/v1/recognize",
        "  docs     http://localhost:8000/docs",
        "  KServe   localhost:8000",
        "  gRPC     localhost:8001",
        "  metrics  http://localhost:8002/metrics",
        "",
    ]
    curl = "  curl --data-binary @tests/data/street.jpg http://localhost:8000/v1/recognize"
    assert curl in lines


def test_the_welcome_names_what_there_is() -> None:
    options = GatewayOptions(
        http=Address("::", 8000),
        grpc=None,
        metrics=Address("192.0.2.7", 9090),
        certificate=Path("c"),
        cameras=Path("CAMERAS.toml"),
    )
    message = welcome(ServerOptions(explicit=True, http_port=9000), options)
    assert "  live     https://[::1]:8000/live\n" in message
    assert "  REST     https://[::1]:8000/v1/recognize\n" in message
    assert "  metrics  http://192.0.2.7:9090/metrics\n" in message
    assert "  admin    http://127.0.0.1:9000/v2/repository, with PLATES_ADMIN_KEY\n" in message
    assert "gRPC" not in message


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        pytest.param(
            GatewayOptions(certificate=Path("c"), private_key=Path("k")),
            [
                "  curl --data-binary @tests/data/street.jpg https://localhost:8000/v1/recognize",
                "  .venv/bin/plates recognize tests/data/street.jpg --url https://localhost:8000",
                '  print(PlateClient("https://localhost:8000")'
                '.recognize("tests/data/street.jpg").to_dataframe())',
            ],
            id="tls",
        ),
        pytest.param(
            GatewayOptions(keys=Path("keys.toml"), wants_keys=True),
            [
                "  curl -H 'X-API-Key: KEY' --data-binary @tests/data/street.jpg "
                "http://localhost:8000/v1/recognize",
                "  PLATES_KEY=KEY .venv/bin/plates recognize tests/data/street.jpg "
                "--url localhost:8000",
                '  print(PlateClient("localhost:8000", key="KEY")'
                '.recognize("tests/data/street.jpg").to_dataframe())',
            ],
            id="keys",
        ),
    ],
)
def test_the_welcome_says_how_to_call_the_gateway(
    options: GatewayOptions, lines: list[str]
) -> None:
    message = welcome(ServerOptions(), options).splitlines()
    assert [line for line in message if line in lines] == lines
