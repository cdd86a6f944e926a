"""What `plates serve` checks before it starts anything, and what it says then."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.cli.services import check_services, welcome
from orchestrator.errors import ServerError
from orchestrator.gateway.options import Address, GatewayOptions
from orchestrator.server.options import ServerOptions
from orchestrator.server.ports import free_ports

TRITON = ServerOptions(http_port=0, grpc_port=0, metrics_port=0, device="cpu")


@pytest.fixture
def flags() -> GatewayFlags:
    http, grpc = free_ports(2)
    return GatewayFlags(http=f"127.0.0.1:{http}", grpc=f"127.0.0.1:{grpc}")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A repository without our models."""
    (tmp_path / "double").mkdir()
    (tmp_path / "double" / "config.pbtxt").write_text('backend: "python"')
    return tmp_path


def test_the_gateway_is_told_the_ports_that_were_found(flags: GatewayFlags) -> None:
    options, gateway = check_services(TRITON, flags)
    assert gateway.triton_http == f"127.0.0.1:{options.http_port}"
    assert str(gateway.http) == flags.http
    assert len({options.http_port, options.grpc_port, options.metrics_port, 0}) == 4


def test_no_port_is_wanted_twice(flags: GatewayFlags) -> None:
    triton = replace(TRITON, http_port=int(flags.grpc.rpartition(":")[2]))
    with pytest.raises(
        ServerError, match=r"^gateway_grpc: wanted another port than http_port, got"
    ):
        check_services(triton, flags)


@pytest.mark.parametrize("is_wanted", [False, True])
def test_models_of_others_have_no_gateway(
    is_wanted: bool, flags: GatewayFlags, foreign: Path
) -> None:
    triton = replace(TRITON, repository=foreign)
    options, gateway = check_services(triton, flags if is_wanted else None)
    assert gateway is None
    assert "There is no gateway: it speaks for plate_recognition alone." in welcome(options, None)


def test_the_welcome_names_the_gateway_first() -> None:
    lines = welcome(ServerOptions(), GatewayOptions()).splitlines()
    assert lines[:11] == [
        "ready",
        "  gateway, for everybody else",
        "    page     http://localhost:8080/",
        "    REST     http://localhost:8080/v1/recognize",
        "    docs     http://localhost:8080/docs",
        "    KServe   localhost:8080",
        "    gRPC     localhost:8081",
        "  Triton, for this machine",
        "    HTTP     localhost:8000",
        "    gRPC     localhost:8001",
        "    metrics  http://localhost:8002/metrics",
    ]
    curl = "  curl --data-binary @tests/data/street.jpg http://localhost:8080/v1/recognize"
    assert curl in lines


def test_the_welcome_names_what_there_is() -> None:
    options = GatewayOptions(
        http=Address("::", 8080),
        grpc=None,
        metrics=Address("192.0.2.7", 9090),
        certificate=Path("c"),
    )
    said = welcome(ServerOptions(host="192.0.2.7"), options)
    assert "    REST     https://[::1]:8080/v1/recognize\n" in said
    assert "    metrics  http://192.0.2.7:9090/metrics\n" in said
    assert "  Triton, for everybody\n    HTTP     192.0.2.7:8000\n" in said
    assert said.count("gRPC") == 1


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        pytest.param(
            GatewayOptions(certificate=Path("c"), private_key=Path("k")),
            [
                "  curl --data-binary @tests/data/street.jpg https://localhost:8080/v1/recognize",
                "  .venv/bin/plates recognize tests/data/street.jpg --url https://localhost:8080",
                '  print(PlateClient("https://localhost:8080")'
                '.recognize("tests/data/street.jpg").to_dataframe())',
            ],
            id="tls",
        ),
        pytest.param(
            GatewayOptions(keys=Path("keys.toml"), wants_keys=True),
            [
                "  curl -H 'X-API-Key: KEY' --data-binary @tests/data/street.jpg "
                "http://localhost:8080/v1/recognize",
                "  PLATES_KEY=KEY .venv/bin/plates recognize tests/data/street.jpg "
                "--url localhost:8080",
                '  print(PlateClient("localhost:8080", key="KEY")'
                '.recognize("tests/data/street.jpg").to_dataframe())',
            ],
            id="keys",
        ),
    ],
)
def test_the_welcome_says_how_to_call_the_gateway(
    options: GatewayOptions, lines: list[str]
) -> None:
    said = welcome(ServerOptions(), options).splitlines()
    assert [line for line in said if line in lines] == lines


def test_the_welcome_without_a_gateway_asks_triton() -> None:
    said = welcome(ServerOptions(), None)
    assert "curl" not in said
    assert "street.jpg --url localhost:8000\n" in said


@pytest.fixture
def serve() -> Callable[..., str]:
    """Run the command where it cannot start; return its one sentence."""

    def run(*flags: str) -> str:
        done = CliRunner().invoke(app, ["serve", *flags], env={"PLATES_ADMIN_KEY": ""})
        assert done.exit_code == 2
        return re.sub(r"\s+", " ", done.stderr)

    return run


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(
            ["--explicit"], "plates: explicit: wanted PLATES_ADMIN_KEY, got none", id="key"
        ),
        pytest.param(
            ["--host=0.0.0.0", "--no-gateway", "--http-port=0", "--grpc-port=0"],
            "plates: host: wanted an address of this machine alone, got 0.0.0.0: Triton was not",
            id="triton-for-others",
        ),
        pytest.param(
            ["--gateway=0.0.0.0:1", "--http-port=0", "--grpc-port=0", "--metrics-port=0"],
            "plates: keys: wanted to know who may call 0.0.0.0:1, which others can reach; make",
            id="nothing-of-keys",
        ),
        pytest.param(
            ["--tritonserver=/nowhere", "--http-port=0", "--grpc-port=0", "--metrics-port=0"],
            "plates: tritonserver: wanted a program that can be run, got /nowhere",
            id="no-such-triton",
        ),
    ],
)
def test_what_cannot_be_started_is_one_sentence(serve, flags: list[str], message: str) -> None:
    assert serve(*flags).startswith(message)
