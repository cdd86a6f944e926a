"""The images and their compose file have what reviewers look for, and say what the code says."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from itertools import dropwhile, takewhile
from pathlib import Path

import pytest
import yaml

from orchestrator.server.distribution import UNLESS_SET, command, find_distribution
from orchestrator.server.options import ServerOptions

PROJECT = Path(__file__).resolve().parents[2]
DOCKERFILE = PROJECT / "Dockerfile"
START = PROJECT / "deploy" / "tritonserver.sh"
TARGETS = ["cpu", "gpu"]
Instructions = list[tuple[str, str]]


def instructions() -> Instructions:
    """Keyword and arguments of every instruction, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [
        (word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line)
    ]


def stage(name: str) -> Instructions:
    """The instructions of one stage, FROM first."""
    rest = dropwhile(
        lambda found: found[0] != "FROM" or not found[1].endswith(f" AS {name}"), instructions()
    )
    return [next(rest), *takewhile(lambda found: found[0] != "FROM", rest)]


def value(target: str, keyword: str) -> str:
    """The one instruction of this keyword in a stage."""
    (found,) = [rest for word, rest in stage(target) if word == keyword]
    return found


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("target", TARGETS)
def test_the_service_is_an_ordinary_user_with_a_number(target: str) -> None:
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", value(target, "USER"))  # Kubernetes asks for one


@pytest.mark.parametrize("target", TARGETS)
def test_the_health_check_is_the_probe(target: str) -> None:
    path = re.search(r'"/opt/plates/(\S+)"', value(target, "HEALTHCHECK"))[1]
    assert path == "orchestrator/probe.py"
    assert (PROJECT / path).is_file()


@pytest.mark.parametrize("target", TARGETS)
def test_the_image_is_stopped_reached_and_labelled(target: str) -> None:
    assert value(target, "STOPSIGNAL") == "SIGTERM"
    options = ServerOptions()
    ports = [options.http_port, options.grpc_port, options.metrics_port]
    assert [int(port) for port in value(target, "EXPOSE").split()] == ports
    assert 'licenses="AGPL-3.0-or-later"' in value(target, "LABEL")
    assert ("ARG", f"VERSION={version('orchestrator')}") in stage(target)


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_installed_in_a_final_stage(target: str) -> None:
    (run,) = [rest for word, rest in stage(target) if word == "RUN"]
    assert run.startswith("python3 -m compileall ")


def test_bases_are_pinned() -> None:
    bases = [rest for word, rest in instructions() if word == "ARG" and "_IMAGE=" in rest]
    assert len(bases) == 2
    assert all(re.search(r":\d+\.\d+-", base) for base in bases)


def test_the_installer_knows_the_flags_that_the_images_use() -> None:
    flags = re.findall(r"install\.py (--\w+)", DOCKERFILE.read_text())
    command_line = [sys.executable, PROJECT / "scripts" / "install.py", "--help"]
    known = subprocess.run(command_line, capture_output=True, text=True, check=True).stdout
    assert flags == ["--torch"]
    assert "--torch {cpu,cuda}" in known


def test_the_gpu_image_has_the_environment_of_plates_serve() -> None:
    variables = dict(pair.split("=", 1) for pair in value("gpu", "ENV").split())
    assert {name: variables[name] for name in UNLESS_SET} == UNLESS_SET


def test_the_build_gets_what_it_copies_and_no_more() -> None:
    lines = PROJECT.joinpath(".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    allowed = {line[1:] for line in patterns if line.startswith("!")}
    copies = [rest for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    assert patterns[0] == "*"
    assert allowed == {source for copy in copies for source in copy.split()[:-1]}
    assert {"**/__pycache__", "model_repository/*/*/model.*[^y]"} < set(patterns)


@pytest.fixture
def flags_of_the_script(tmp_path: Path):
    """Run the gpu image's start script with a tritonserver that only tells its flags."""
    shown = tmp_path / "tritonserver"
    shown.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    shown.chmod(0o755)

    def run(*flags: str, **variables: str) -> list[str]:
        path = f"{tmp_path}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", START, *flags],
            env={"PATH": path, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    return run


def test_the_gpu_image_starts_triton_with_the_flags_of_plates_serve(flags_of_the_script) -> None:
    options, models = ServerOptions(host="0.0.0.0", admin_key="secret"), Path("/opt/plates/models")
    serve = command(options, find_distribution(), models, Path("backends"), "prefix")[1:]
    # Of one machine with several servers, and of the backends that NGC's image has itself.
    of_serve_alone = re.compile(
        r"--(backend-directory|\w+-address|\w+-port|backend-config=(pytorch|openvino))\b"
        r"|.*region-prefix"
    )
    common = {flag for flag in serve if not of_serve_alone.match(flag)}
    assert set(flags_of_the_script(PLATES_ADMIN_KEY="secret")) == common


def test_the_gpu_image_takes_further_flags(flags_of_the_script) -> None:
    assert flags_of_the_script("--log-verbose=1")[-1] == "--log-verbose=1"


def test_without_an_admin_key_nobody_knows_it(flags_of_the_script) -> None:
    first, second = flags_of_the_script(), flags_of_the_script()
    assert len(set(first) - set(second)) == 2


def compose(name: str = "compose.yaml") -> dict:
    return yaml.safe_load(PROJECT.joinpath("deploy", name).read_text())


@pytest.mark.parametrize("service", ["plates", "prometheus", "grafana"])
def test_every_service_is_pinned_and_has_no_rights(service: str) -> None:
    described = compose()["services"][service]
    assert re.fullmatch(r"\S+:v?\d+\.\d+\.\d+(-cpu)?", described["image"])
    assert described["read_only"]
    assert described["cap_drop"] == ["ALL"]
    assert described["security_opt"] == ["no-new-privileges:true"]


def test_the_service_gets_shared_memory_and_time_to_end() -> None:
    service = compose()["services"]["plates"]
    assert service["shm_size"] == "512m"  # Docker's 64 MB are full at the start
    assert any(mount.startswith("/tmp:") for mount in service["tmpfs"])
    exit_timeout = re.search(r"exit-timeout-secs=(\d+)", START.read_text())[1]
    assert int(service["stop_grace_period"].rstrip("s")) > 2 * int(exit_timeout)


def test_what_is_mounted_exists_and_what_is_built_has_a_target() -> None:
    services = compose()["services"]
    mounts = [volume for service in services.values() for volume in service.get("volumes", [])]
    files = [mount.split(":")[0] for mount in mounts if mount.startswith(".")]
    assert len(files) == 4
    assert all((PROJECT / "deploy" / file).exists() for file in files)
    gpu = compose("compose.gpu.yaml")["services"]["plates"]
    assert [services["plates"]["build"]["target"], gpu["build"]["target"]] == TARGETS
