"""The images: what their two descriptions name exists, and the gpu image serves like the cpu one.

`make image-check` builds and runs the cpu image; nothing here can build the gpu image.
"""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from orchestrator.server.distribution import UNLESS_SET, command, find_distribution
from orchestrator.server.options import ServerOptions
from tests.samples import PROJECT

DOCKERFILE = PROJECT / "Dockerfile"
LINES = re.sub(r"\s*\\\n\s*", " ", DOCKERFILE.read_text(encoding="utf-8")).splitlines()
START = PROJECT / "deploy" / "tritonserver.sh"


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_the_images_run_exists() -> None:
    paths = set(re.findall(r'"/opt/plates/(\S+)"', "\n".join(LINES)))
    assert paths == {"orchestrator/probe.py", "deploy/tritonserver.sh"}
    assert all((PROJECT / path).is_file() for path in paths)


def test_the_images_are_of_this_version() -> None:
    told = {line for line in LINES if line.startswith("ARG VERSION=")}
    assert told == {f"ARG VERSION={version('orchestrator')}"}


def test_the_gpu_image_has_the_environment_of_plates_serve() -> None:
    (told,) = [line for line in LINES if line.startswith("ENV PYTHONPATH=")]
    variables = dict(pair.split("=", 1) for pair in told.split()[1:])
    assert {name: variables[name] for name in UNLESS_SET} == UNLESS_SET


def test_the_build_gets_what_it_copies_and_no_more() -> None:
    patterns = PROJECT.joinpath(".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in patterns if line.startswith("!")}
    copies = [line for line in LINES if line.startswith("COPY ") and "--from" not in line]
    assert allowed == {source for copy in copies for source in copy.split()[1:-1]}


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
    serve = command(options, find_distribution(), [models], Path("backends"), "prefix")[1:]
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


def test_what_compose_mounts_and_builds_exists() -> None:
    files = [PROJECT / "deploy" / name for name in ("compose.yaml", "compose.gpu.yaml")]
    services = [yaml.safe_load(file.read_text())["services"] for file in files]
    volumes = [volume for one in services[0].values() for volume in one.get("volumes", [])]
    mounted = [mount.split(":")[0] for mount in volumes if mount.startswith(".")]
    assert mounted
    assert all((PROJECT / "deploy" / file).exists() for file in mounted)
    targets = [one["plates"]["build"]["target"] for one in services]
    assert {line.split()[-1] for line in LINES if line.startswith("FROM ")} >= set(targets)


def test_compose_waits_for_the_calls_in_work() -> None:
    services = yaml.safe_load((PROJECT / "deploy" / "compose.yaml").read_text())["services"]
    exit_timeout_s = re.search(r"exit-timeout-secs=(\d+)", START.read_text())[1]
    assert int(services["plates"]["stop_grace_period"].rstrip("s")) > 2 * int(exit_timeout_s)
