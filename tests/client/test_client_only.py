"""An installation of the client only: one sentence names the package that is missing."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from orchestrator.host.distribution import explain_missing_package
from tests.client.client_only import ClientOnly

BRINGS = "; pip install -e '.[server]' in the checkout brings it\n"
ANY_PORTS = ("--http-port=0", "--grpc-port=0", "--metrics-port=0")
"""Free ports, because a server may use the default ones."""
NEEDING_MORE = [
    ("recognize", "/dev/null"),
    ("serve", *ANY_PORTS),
    ("export",),
    ("add-version", "stn", "--to", "/"),
    ("evaluate", "/"),
    ("bench",),
    ("quantize",),
    ("train", "reader", "--out", "/nowhere"),
    ("train", "detector", "--out", "/nowhere"),
]
WORKSHOP = ("evaluate", "bench", "quantize", "train")


def test_a_client_needs_no_package_of_the_server(client_only: ClientOnly) -> None:
    packages = {"torch", "openvino", "pytriton", "matplotlib", "PIL", "cv2"}
    code = """
import sys
from importlib.util import find_spec
from orchestrator import Plate, PlateClient, Plates, Settings
print([*map(find_spec, sys.argv[1:])])
"""
    result = client_only.run(code, *packages)
    assert (result.stdout, result.stderr) == (f"{[None] * len(packages)}\n", "")


def test_commands_name_the_missing_package(client_only: ClientOnly) -> None:
    results = client_only.in_checkout().plates_in_turn(*NEEDING_MORE)
    sentence = re.compile(
        r"(starting Triton \.\.\.\n)?.+ is not installed, since a client needs none"
        + re.escape(BRINGS)
    )
    wrong_results = {
        command: result
        for command, result in zip(NEEDING_MORE, results, strict=True)
        if (result.returncode, result.stdout) != (2, "") or not sentence.fullmatch(result.stderr)
    }
    assert wrong_results == {}


def test_commands_of_the_workshop_are_there_in_a_checkout_alone(client_only: ClientOnly) -> None:
    *results, help_result = client_only.plates_in_turn(*[(name,) for name in WORKSHOP], ("--help",))
    assert [result.stderr.count(f"No such command '{name}'")
            for name, result in zip(WORKSHOP, results, strict=True)] == [1] * 4  # fmt: skip
    assert (help_result.returncode, help_result.stderr) == (0, "")
    assert "plates" in help_result.stdout
    help_results = client_only.in_checkout().plates_in_turn(
        *[(name, "--help") for name in WORKSHOP]
    )
    assert [result.returncode for result in help_results] == [0] * 4


def test_recognize_says_before_the_request_what_it_needs(
    client_only: ClientOnly, tmp_path: Path
) -> None:
    picture = tmp_path / "car.jpg"
    picture.touch()
    server_result, drawing_result = client_only.plates_in_turn(
        ("recognize", "/dev/null"),
        ("recognize", picture, "--url", "nowhere:1", "--annotate", tmp_path),
    )
    assert server_result.stderr.startswith(
        "plates: without --url host:port a server is started: the package"
    )
    assert drawing_result.returncode == 2
    assert drawing_result.stderr.startswith(
        "plates: the package cv2 is not installed, since a client"
    )
    assert "pip install opencv-python-headless, or " in drawing_result.stderr


def test_a_function_names_the_missing_package(client_only: ClientOnly) -> None:
    result = client_only.run("from orchestrator import load_networks")
    assert result.returncode == 1
    assert "ExtraError: the package " in result.stderr
    assert result.stderr.endswith(BRINGS)


def test_other_missing_modules_are_not_blamed_on_the_extra() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match=r"^No module named 'nowhere'$"),
        explain_missing_package(),
    ):
        import_module("nowhere")
