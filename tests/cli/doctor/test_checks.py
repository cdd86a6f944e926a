"""Hindrances of a start, with fakes of programs and drivers."""

import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.doctor import checks
from orchestrator.cli.doctor.diagnosis import plan_server
from orchestrator.cli.doctor.machine import check_port, describe_machine, find_gpus
from orchestrator.errors import ServerError, SettingsError
from orchestrator.host.resources import MIB
from orchestrator.serving.supervisor.capacity import fitting_gpu
from orchestrator.serving.supervisor.installation import Installation
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports


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
        taken = check_port(options.listening[1])
        found = [*checks.find_hindrances(options, replace(machine, ports=(taken,)))]
    assert len(found) == 2
    assert found[0].startswith(f"grpc_port: wanted a free port, got {options.grpc_port} (")
    assert found[0].endswith("; choose another with --grpc-port")
    assert found[1].startswith("memory: wanted ")


def test_missing_packages_are_one_hindrance_with_what_brings_them(options, monkeypatch) -> None:
    monkeypatch.setattr(checks, "find_missing", lambda: ["torch", "openvino"])
    first, *others = checks.find_hindrances(options, describe_machine(options.listening))
    assert first == (
        "packages: wanted torch, openvino for serving, got none; pip install -e '.[server]' in the "
        "checkout brings them"
    )
    assert others == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param("no file", "no file; git restore weights model_repo", id="without-advice"),
        pytest.param("no file; make it", "no file; make it", id="with-its-own"),
    ],
)
def test_each_hindrance_has_an_advice(options, monkeypatch, error: str, told: str) -> None:
    def fail(_: ServerOptions) -> None:
        raise SettingsError(error)

    monkeypatch.setattr(checks, "find_exports", fail)
    (one,) = checks.find_hindrances(options, describe_machine(options.listening))
    assert one.startswith(told)
    assert one.count(";") == 1


class TestProgram:
    def test_a_missing_library_is_named(self, write) -> None:
        write("bin/tritonserver", 'echo "$0: error while loading libb64.so.0d" >&2; exit 127')
        message = r"^tritonserver: error while loading libb64\.so\.0d; on Debian and Ubuntu apt-fi"
        with pytest.raises(ServerError, match=message):
            checks.check_program(self.installation_of(write))

    def test_so_is_a_signal(self, write) -> None:
        write("bin/tritonserver", "kill -ILL $$")
        with pytest.raises(ServerError, match="wanted its help, got signal 4: this CPU or kernel"):
            checks.check_program(self.installation_of(write))

    def test_one_that_prints_its_help_runs(self, write) -> None:
        write("bin/tritonserver", "exit 1")  # as Triton's own does
        checks.check_program(self.installation_of(write))

    def test_none_at_all_is_told(self, write) -> None:
        with pytest.raises(ServerError, match="cannot be run: No such file or directory"):
            checks.check_program(self.installation_of(write))

    @staticmethod
    def installation_of(write) -> Installation:
        stub = write("stub", "")
        return Installation(stub.parent, stub)


class TestGpu:
    @pytest.mark.parametrize(
        ("build", "reason", "told"),
        [
            pytest.param("2.13.0+cpu", "", r"torch 2.13.0\+cpu has no CUDA", id="CPU build"),
            pytest.param("2.13.0+cu130", "driver too old", "driver too old", id="old driver"),
            pytest.param("2.13.0+cu130", "", "CUDA_VISIBLE_DEVICES hides it", id="hidden"),
        ],
    )
    def test_why_it_is_not_used_is_told(
        self, monkeypatch, build: str, reason: str, told: str
    ) -> None:
        monkeypatch.setattr(checks.metadata, "version", lambda _: build)
        monkeypatch.setattr(checks, "explain_no_gpu", lambda: reason)
        assert re.search(told, checks.explain_cpu())

    def test_it_is_what_a_server_would_use(self, monkeypatch) -> None:
        monkeypatch.setattr("orchestrator.serving.supervisor.options.has_gpu", lambda: True)
        plan = plan_server(ServerOptions())
        assert (plan.device, plan.reason) == ("gpu", "there is a GPU")
        assert (plan.engine, plan.pictures) == ("torchscript-fp16", fitting_gpu().pictures)

    def test_names_and_drivers_come_from_its_program(self, write, monkeypatch) -> None:
        program = write("nvidia-smi", "echo 'NVIDIA H100, 80GB, 550.54'; echo 'NVIDIA T4, 550.54'")
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")
        found = ("NVIDIA H100, 80GB, driver 550.54", "NVIDIA T4, driver 550.54")
        assert find_gpus() == found

    @pytest.mark.parametrize("code", ["exit 9", "exec no-such-program"])
    def test_a_program_that_fails_names_none(self, write, monkeypatch, code: str) -> None:
        monkeypatch.setenv("PATH", str(write("nvidia-smi", code).parent), prepend=":")
        assert find_gpus() == ()


def test_a_package_without_a_checkout_is_told_where_to_start(options, tmp_path) -> None:
    with pytest.raises(SettingsError, match=r"wanted that of a checkout, got no .*; start in "):
        checks.find_exports(replace(options, repository=tmp_path / "gone"))
