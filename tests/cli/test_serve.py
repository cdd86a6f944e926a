"""Each option is declared once, and appears in the command, the gateway and the docs."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.host.option_fields import declared
from orchestrator.serving.gateway.caller_options import CallerOptions
from orchestrator.serving.gateway.options import GatewayOptions, Limits, from_json, to_json
from orchestrator.serving.supervisor.options import ServerOptions

COMMANDS = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text("utf-8")
SAMPLES: dict[Any, tuple[list[str], Any]] = {
    str: (["word"], "word"),
    int: (["3"], 3),
    bool: ([], True),
    Path: (["/a/b"], Path("/a/b")),
    Path | None: (["/a/b"], Path("/a/b")),
    tuple[str, ...]: (["word"], ("word",)),
    tuple[Path, ...]: (["/a/b"], (Path("/a/b"),)),
}
"""Arguments of the command line and their parsed value, by the type of the field."""
SPECIAL = {"device": (["cpu"], "cpu"), "engine": (["openvino"], "openvino")}
Serve = Callable[..., tuple[ServerOptions, GatewayFlags | None]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Runs `plates serve` and returns the options with which it starts the services."""
    started: list[Any] = []
    monkeypatch.setattr("orchestrator.cli.startup.run_services", lambda *args: started.append(args))

    def run(*words: str) -> Any:
        result = CliRunner().invoke(app, ["serve", *words])
        assert result.exit_code == 0, result.output
        return started.pop()

    return run


def test_a_file_that_cannot_be_read_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_services(*_arguments: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "weights/yolo.pt")

    monkeypatch.setattr("orchestrator.cli.startup.run_services", run_services)
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code == 2
    assert result.stderr == "plates: weights/yolo.pt: cannot be used: Permission denied\n"


def name_flag(kind: type, name: str) -> str:
    """Return the flag of a field's option."""
    default = declared(kind)[name].default
    return default if default is not ... else f"--{name.replace('_', '-')}"


def sample(kind: type, name: str) -> tuple[list[str], Any]:
    """Return the arguments for a field's option, and their parsed value."""
    return SPECIAL.get(name) or SAMPLES[get_type_hints(kind)[name]]


@pytest.mark.parametrize("name", declared(GatewayFlags))
def test_every_option_of_the_gateway_is_on_the_command_line(serve: Serve, name: str) -> None:
    words, value = sample(GatewayFlags, name)
    _, flags = serve(name_flag(GatewayFlags, name), *words)
    assert flags == GatewayFlags(**{name: value})


@pytest.mark.parametrize("name", declared(ServerOptions))
def test_every_option_of_triton_is_on_the_command_line(serve: Serve, name: str) -> None:
    words, value = sample(ServerOptions, name)
    triton, _ = serve(name_flag(ServerOptions, name), *words, "--admin-key", "word")
    assert getattr(triton, name) == value


@pytest.mark.parametrize("name", declared(CallerOptions))
def test_every_option_of_callers_reaches_the_processes_of_the_gateway(name: str) -> None:
    _, value = sample(CallerOptions, name)
    options = GatewayOptions(**GatewayFlags(**{name: value}).caller_options())
    assert getattr(from_json(to_json(options)), name) == value


@pytest.mark.parametrize("name", declared(Limits))
def test_every_limit_reaches_the_processes_of_the_gateway(serve: Serve, name: str) -> None:
    _, flags = serve("--limit", f"{name}=3")
    assert flags
    options = GatewayOptions(limits=Limits().updated(flags.limits))
    assert getattr(from_json(to_json(options)).limits, name) == 3


@pytest.mark.parametrize("kind", [GatewayFlags, ServerOptions])
def test_every_option_is_in_the_docs_with_its_help(kind: type) -> None:
    names = [name_flag(kind, name) for name in declared(kind)]
    assert [flag for flag in names if f"| `{flag}" not in COMMANDS] == []
    texts = [info.help for info in declared(kind).values()]
    assert [text for text in texts if text not in COMMANDS] == []


def test_triton_has_the_ports_without_the_gateway_and_an_admin_port_behind_it(serve: Serve) -> None:
    triton, flags = serve("--no-gateway", "--http-port", "1", "--grpc-port", "2")
    assert (flags, triton.caller_key) == (None, "")
    assert (triton.http_port, triton.grpc_port, triton.metrics_port) == (1, 2, 8002)
    triton, _ = serve("--admin-port", "5", "--admin-key", "secret")
    assert (triton.http_port, triton.grpc_port, triton.metrics_port) == (5, 0, 0)
    assert triton.caller_key
    assert triton.admin_key == "secret"
