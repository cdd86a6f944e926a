"""Installation of only the client: one sentence says what a command or a function lacks."""

import pytest

from tests.client.client_only import ClientOnly

BRINGS = "; pip install -e '.[server]' in the checkout brings it\n"

ANY_PORTS = ("--http-port=0", "--grpc-port=0", "--metrics-port=0")
"""A server may have the usual ones."""


def test_a_client_needs_no_package_of_the_server(client_only: ClientOnly) -> None:
    packages = {"torch", "openvino", "pytriton", "matplotlib", "PIL", "cv2"}
    code = (
        "import sys; from importlib.util import find_spec; print([*map(find_spec, sys.argv[1:])])"
    )
    assert client_only.run(code, *packages).stdout == f"{[None] * len(packages)}\n"


def test_the_command_line_is_there(client_only: ClientOnly) -> None:
    done = client_only.plates("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "plates" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("recognize", "/dev/null"), id="recognize"),
        pytest.param(("serve", *ANY_PORTS), id="serve"),
        pytest.param(("export",), id="export"),
        pytest.param(("add-version", "stn", "--to", "/"), id="add-version"),
        pytest.param(("evaluate", "/"), id="evaluate"),
        pytest.param(("bench",), id="bench"),
        pytest.param(("quantize",), id="quantize"),
        pytest.param(("train", "reader", "--out", "/nowhere"), id="train-reader"),
        pytest.param(("train", "detector", "--out", "/nowhere"), id="train-detector"),
    ],
)
def test_a_command_names_the_missing_package(client_only: ClientOnly, arguments) -> None:
    done = client_only.in_checkout().plates(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    stderr = done.stderr.removeprefix("starting Triton ...\n")
    assert " is not installed, since a client needs none; " in stderr
    assert stderr.endswith(BRINGS)
    assert stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["evaluate", "bench", "quantize", "train"])
def test_commands_of_the_workshop_are_there_in_a_checkout_alone(client_only, command) -> None:
    assert f"No such command '{command}'" in client_only.plates(command).stderr
    assert client_only.in_checkout().plates(command, "--help").returncode == 0


def test_drawing_names_the_missing_package_before_the_request(
    client_only: ClientOnly, tmp_path
) -> None:
    picture = tmp_path / "car.jpg"
    picture.touch()
    done = client_only.plates("recognize", picture, "--url", "nowhere:1", "--annotate", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("plates: the package cv2 is not installed, since a client")
    assert "pip install opencv-python-headless, or " in done.stderr


def test_a_function_names_the_missing_package(client_only: ClientOnly) -> None:
    done = client_only.run("from orchestrator import load_networks")
    assert done.returncode == 1
    assert "ExtraError: the package " in done.stderr
    assert done.stderr.endswith(BRINGS)


def test_other_missing_modules_are_not_blamed_on_the_extra(
    client_only: ClientOnly,
) -> None:
    done = client_only.run(
        "from orchestrator.system.optional_dependencies import needs_told\n"
        "with needs_told():\n    import nowhere"
    )
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'nowhere'\n")


def test_a_client_is_there(client_only: ClientOnly) -> None:
    code = "from orchestrator import Plate, PlateClient, Plates, Settings"
    assert client_only.run(code).returncode == 0


def test_recognize_asks_for_a_server_first(client_only: ClientOnly) -> None:
    done = client_only.plates("recognize", "/dev/null")
    assert done.stderr.startswith(
        "plates: without --url host:port a server is started: the package"
    )
