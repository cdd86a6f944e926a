"""The message of `plates serve` when it is ready."""

from pathlib import Path

import pytest

from orchestrator.cli.welcome import welcome
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor.options import ServerOptions


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
    )
    said = welcome(ServerOptions(explicit=True, http_port=9000), options)
    assert "  REST     https://[::1]:8000/v1/recognize\n" in said
    assert "  metrics  http://192.0.2.7:9090/metrics\n" in said
    assert "  admin    http://127.0.0.1:9000/v2/repository, with PLATES_ADMIN_KEY\n" in said
    assert "gRPC" not in said


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
    said = welcome(ServerOptions(), options).splitlines()
    assert [line for line in said if line in lines] == lines


def test_the_welcome_without_a_gateway_asks_triton() -> None:
    said = welcome(ServerOptions(), None)
    assert "curl" not in said
    assert "street.jpg --url localhost:8000\n" in said
