"""`plates doctor`: hindrances of a start with fakes, its report, and the command."""

import json
import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.cli.doctor import checks, diagnosis, report
from orchestrator.cli.doctor.diagnosis import Diagnosis, ServerPlan, plan_server
from orchestrator.cli.doctor.machine import Machine, Port, check_port, describe_machine, find_gpus
from orchestrator.cli.doctor.report import anonymize, to_json, to_text
from orchestrator.errors import ServerError, SettingsError
from orchestrator.host.resources import MIB
from orchestrator.serving.supervisor.capacity import fitting_gpu
from orchestrator.serving.supervisor.installation import Installation
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports
from tests.child_python import run_python
from tests.client.client_only import ClientOnly


@pytest.fixture
def options() -> ServerOptions:
    """Options of a server on free ports."""
    http, grpc, metrics = free_ports(3)
    return ServerOptions(device="cpu", http_port=http, grpc_port=grpc, metrics_port=metrics)


@pytest.fixture
def write(tmp_path: Path):
    """Write a shell script that can be executed."""

    def program(path: str, code: str) -> Path:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{code}\n")
        file.chmod(0o755)
        return file

    return program


def test_nothing_hinders_a_start_here(options) -> None:
    assert [*checks.find_hindrances(options, describe_machine(options.listening))] == []


def test_each_hindrance_is_told(options) -> None:
    machine = replace(describe_machine(options.listening), usable_bytes=64 * MIB)
    with socket.create_server(("127.0.0.1", options.grpc_port)):
        port = check_port(options.listening[1])
        hindrances = [*checks.find_hindrances(options, replace(machine, ports=(port,)))]
    assert len(hindrances) == 2
    assert hindrances[0].startswith(f"grpc_port: wanted a free port, got {options.grpc_port} (")
    assert hindrances[0].endswith("; choose another with --grpc-port")
    assert hindrances[1].startswith("memory: wanted ")


def test_missing_packages_are_one_hindrance_with_what_brings_them(options, monkeypatch) -> None:
    monkeypatch.setattr(checks, "find_missing_packages", lambda: ["torch", "openvino"])
    hindrance, *other_hindrances = checks.find_hindrances(
        options, describe_machine(options.listening)
    )
    assert hindrance == (
        "packages: wanted torch, openvino for serving, got none; pip install -e '.[server]' in the "
        "checkout brings them"
    )
    assert other_hindrances == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param("no file", "no file; git restore weights model_repo", id="without-advice"),
        pytest.param("no file; make it", "no file; make it", id="with-its-own"),
    ],
)
def test_each_hindrance_has_an_advice(options, monkeypatch, error: str, message: str) -> None:
    def fail(_: ServerOptions) -> None:
        raise SettingsError(error)

    monkeypatch.setattr(checks, "find_exports", fail)
    (hindrance,) = checks.find_hindrances(options, describe_machine(options.listening))
    assert hindrance.startswith(message)
    assert hindrance.count(";") == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(
            'echo "$0: error while loading libb64.so.0d" >&2; exit 127',
            r"^tritonserver: error while loading libb64\.so\.0d; on Debian and Ubuntu apt-fi",
            id="a-missing-library",
        ),
        pytest.param("kill -ILL $$", "got signal 4: this CPU or kernel", id="a-signal"),
        pytest.param("", "cannot be run: No such file or directory", id="none"),
    ],
)
def test_a_program_that_cannot_run_is_told(write, code: str, message: str) -> None:
    stub = write("stub", "")
    installation = Installation(stub.parent, stub)
    program = write("bin/tritonserver", "exit 1")  # as Triton's own does after its help
    checks.check_program(installation)
    program.unlink()
    if code:
        write("bin/tritonserver", code)
    with pytest.raises(ServerError, match=message):
        checks.check_program(installation)


class TestGpu:
    @pytest.mark.parametrize(
        ("build", "reason", "message"),
        [
            pytest.param("2.13.0+cpu", "", r"torch 2.13.0\+cpu has no CUDA", id="CPU build"),
            pytest.param("2.13.0+cu130", "driver too old", "driver too old", id="old driver"),
            pytest.param("2.13.0+cu130", "", "CUDA_VISIBLE_DEVICES hides it", id="hidden"),
        ],
    )
    def test_why_it_is_not_used_is_told(
        self, monkeypatch, build: str, reason: str, message: str
    ) -> None:
        monkeypatch.setattr(checks.metadata, "version", lambda _: build)
        monkeypatch.setattr(checks, "explain_no_gpu", lambda: reason)
        assert re.search(message, checks.explain_cpu())

    def test_it_is_what_a_server_would_use(self, monkeypatch) -> None:
        monkeypatch.setattr("orchestrator.serving.supervisor.options.has_gpu", lambda: True)
        plan = plan_server(ServerOptions())
        assert (plan.device, plan.reason) == ("gpu", "there is a GPU")
        assert (plan.engine, plan.pictures) == ("torchscript-fp16", fitting_gpu().pictures)

    def test_names_and_drivers_come_from_its_program(self, write, monkeypatch) -> None:
        program = write("nvidia-smi", "echo 'NVIDIA H100, 80GB, 550.54'; echo 'NVIDIA T4, 550.54'")
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")
        gpus = ("NVIDIA H100, 80GB, driver 550.54", "NVIDIA T4, driver 550.54")
        assert find_gpus() == gpus

    @pytest.mark.parametrize("code", ["exit 9", "exec no-such-program"])
    def test_a_program_that_fails_names_none(self, write, monkeypatch, code: str) -> None:
        monkeypatch.setenv("PATH", str(write("nvidia-smi", code).parent), prepend=":")
        assert find_gpus() == ()


def test_a_package_without_a_checkout_is_told_where_to_start(options, tmp_path) -> None:
    with pytest.raises(SettingsError, match=r"wanted that of a checkout, got no .*; start in "):
        checks.find_exports(replace(options, repository=tmp_path / "gone"))


MACHINE = Machine(
    system="Debian, Linux 6.1, x86_64",
    python="3.11.7",
    libpython="libpython3.11.so.1.0",
    cpu="A CPU",
    cores=2,
    all_cores=8,
    instructions=("AVX2", "VNNI"),
    memory_bytes=8192 * MIB,
    usable_bytes=2048 * MIB,
    shm_bytes=64 * MIB,
    free_shm_bytes=63 * MIB,
    ports=(Port(8000, ""), Port(8001, "grpc_port: taken"), Port(8002, "")),
    gpus=(),
)
HEALTHY = Diagnosis(
    MACHINE,
    {"plates": "1.0.0", "torch": None},
    ServerPlan("cpu", "openvino-int8", "the CPU has avx_vnni", 10, 3, 2),
    (),
    ("the first start exports",),
)


def test_a_text_tells_each_fact_in_a_line() -> None:
    lines = [" ".join(line.split()) for line in to_text(HEALTHY).splitlines()]
    expected_lines = {
        "Python 3.11.7, libpython3.11.so.1.0",
        "cores 2 of 8",
        "instructions AVX2, VNNI",
        "memory 8,192 MiB, limited to 2,048 MiB",
        "/dev/shm 64 MiB, 63 MiB free",
        "ports 8000 free, 8001 not free, 8002 free",
        "GPU none found",
        "torch not installed",
        "engine openvino-int8: the CPU has avx_vnni",
        "workers 10, for 3 pictures at once",
        "threads 2 of one inference",
        "- the first start exports",
        "A server would start.",
    }
    assert expected_lines - {*lines} == set()


def test_json_has_the_same() -> None:
    output = json.loads(to_json(replace(HEALTHY, hindrances=("one",))))
    assert (output["would_start"], output["hindrances"]) == (False, ["one"])
    assert output["machine"]["ports"][1] == {"number": 8001, "problem": "grpc_port: taken"}
    assert (output["server"]["engine"], output["versions"]["torch"]) == ("openvino-int8", None)


@pytest.mark.parametrize(
    ("text", "anonymous_text"),
    [
        pytest.param("no such file: /srv/plates/weights", "no such file: ./weights", id="checkout"),
        pytest.param("got /opt/anna/x", "got ~/x", id="home"),
        pytest.param("got /home/boris/x: gone", "got ~/x: gone", id="another-home"),
        pytest.param('"/Users/boris", "y"', '"~", "y"', id="in-json"),
        pytest.param("/tmp/anna/x", "/tmp/USER/x", id="user-in-a-path"),
        pytest.param("/mnt/gate7/x", "/mnt/HOST/x", id="host-in-a-path"),
        pytest.param("/tmp/annabel, anna", "/tmp/annabel, anna", id="other-words"),
        pytest.param("/srv/plates-2/x", "/srv/plates-2/x", id="another-folder"),
    ],
)
def test_names_are_left_out(monkeypatch, text: str, anonymous_text: str) -> None:
    monkeypatch.setattr("platform.node", lambda: "gate7")
    monkeypatch.setattr(report, "_name_user", lambda: "anna")
    assert anonymize(text, {"/srv/plates": ".", "/opt/anna": "~"}) == anonymous_text


HEAVY = {"torch", "openvino", "cv2", "tritonclient"}
COMMAND = f"""
import sys
from orchestrator.cli.app import app
try:
    app(["doctor"])
finally:
    print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(("hindrances", "status"), [((), 0), (("one",), 1)])
def test_the_exit_code_says_whether_a_server_would_start(
    monkeypatch, hindrances: tuple[str, ...], status: int
) -> None:
    monkeypatch.setattr(diagnosis, "find_hindrances", lambda *_: hindrances)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == status
    assert ("A server would start." in result.stdout) is not bool(status)
    output = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert output["would_start"] is not bool(status)


def test_no_heavy_package_is_imported() -> None:
    process = run_python(COMMAND, check=False)
    assert "This machine" in process.stdout
    assert process.stderr == "[]\n"


def test_a_client_alone_is_told_what_serving_needs(client_only: ClientOnly) -> None:
    process = client_only.in_checkout().plates("doctor")
    assert process.returncode == 1
    assert process.stderr == ""
    assert re.search(
        r"- packages: wanted .*nvidia-pytriton, .*torch, .* for serving", process.stdout
    )
    assert "A server would use" not in process.stdout
