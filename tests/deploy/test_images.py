"""The images, Compose, and the workflow that publishes a release."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from poetry.core.masonry.api import build_wheel

from deploy.check_docker import TIGHT
from orchestrator.host.distribution import NAME, read_version
from orchestrator.host.resources import least_bytes
from orchestrator.serving.supervisor.capacity import fitting
from orchestrator.serving.supervisor.models.plate_models import count_ours
from orchestrator.serving.supervisor.triton_server import Server
from scripts.wheels import check_tag, check_wheel
from tests.samples import PROJECT

DOCKERFILE = PROJECT / "Dockerfile"
LINES = re.sub(r"\s*\\\n\s*", " ", DOCKERFILE.read_text(encoding="utf-8")).splitlines()
COMPOSE = yaml.safe_load((PROJECT / "deploy" / "compose.yaml").read_text())["services"]
CPU, GPU = (json.loads(line.partition(" ")[2]) for line in LINES if line.startswith("ENTRYPOINT "))
GATEWAY_S = 20
"""Longest time that the gateway needs to stop, with calls in work."""
EXACT = re.compile(
    r"@sha256:[0-9a-f]{64}$|:v?\d+\.\d+\.\d+(-[\w.-]+)?$|/tritonserver:\d\d\.\d\d-[\w-]+$"
)

TAG = re.compile(
    r"(?:\bplates(?:-archive)?:|plates_orchestrator-|newTag: |app\.kubernetes\.io/version: )"
    r"(\d+\.\d+\.\d+)"
)
"""A version in the name of an image, or beside it in a manifest."""


@pytest.mark.parametrize("dockerfile", ["Dockerfile", "deploy/kubernetes/archive/Dockerfile"])
def test_hadolint_has_nothing_to_say(dockerfile: str) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    child = subprocess.run(
        [hadolint, PROJECT / dockerfile], capture_output=True, text=True, check=False
    )
    assert (child.returncode, child.stdout) == (0, "")


def test_programs_that_the_images_run_exist() -> None:
    paths = set(re.findall(r'"/opt/plates/(\S+)"', "\n".join(LINES)))
    assert paths == {"orchestrator/host/probe.py"}
    assert all((PROJECT / path).is_file() for path in paths)


def test_the_images_are_of_this_version() -> None:
    versions = {line for line in LINES if line.startswith("ARG VERSION=")}
    assert versions == {f"ARG VERSION={read_version()}"}


def test_files_and_pages_name_the_images_of_this_version() -> None:
    files = [
        PROJECT / "Dockerfile",
        *PROJECT.glob("README*.md"),
        *PROJECT.glob("docs/**/*.md"),
        *PROJECT.glob("deploy/**/*.*"),
    ]
    texts = [file.read_text() for file in files if file.suffix in {"", ".md", ".py", ".yaml"}]
    versions = TAG.findall("\n".join(texts))
    assert len(versions) > 20
    assert {*versions} == {read_version()}


def test_both_images_start_plates_serve_with_the_same_addresses() -> None:
    addresses = [flag for flag in CPU if "host=" in flag]
    assert ["plates", "serve", *addresses] == CPU
    assert GPU[1:3] == CPU[:2]
    assert GPU[-len(addresses) :] == addresses


def test_bases_and_images_are_named_exactly() -> None:
    bases = [line.partition("=")[2] for line in LINES if re.match(r"ARG \w+_IMAGE=", line)]
    images = [service["image"] for service in COMPOSE.values()]
    assert len(bases) == 2
    assert [name for name in [*bases, *images] if not EXACT.search(name)] == []


def test_the_build_gets_what_it_copies_and_no_more() -> None:
    patterns = PROJECT.joinpath(".dockerignore").read_text().splitlines()
    allowed_files = {line[1:] for line in patterns if line.startswith("!")}
    copies = [line for line in LINES if line.startswith("COPY ") and "--from" not in line]
    copied_files = {source for copy in copies for source in copy.split()[1:-1]}
    copied_files -= {"plate_cameras/pyproject.toml"}  # it is below a folder that is allowed
    assert allowed_files == copied_files


def test_mounts_and_targets_of_compose_exist() -> None:
    gpu = yaml.safe_load((PROJECT / "deploy" / "compose.gpu.yaml").read_text())["services"]
    volumes = [volume for service in COMPOSE.values() for volume in service.get("volumes", [])]
    mounts = [mount.split(":")[0] for mount in volumes if mount.startswith(".")]
    assert mounts
    assert all((PROJECT / "deploy" / file).exists() for file in mounts)
    targets = {service["plates"]["build"]["target"] for service in (COMPOSE, gpu)}
    assert {line.split()[-1] for line in LINES if line.startswith("FROM ")} >= targets


def test_without_keys_compose_serves_this_machine_alone() -> None:
    service = COMPOSE["plates"]
    assert service["command"] == ["--no-keys"]
    assert [port.rpartition(":")[0] for port in service["ports"]] == [
        "127.0.0.1:8000",
        "127.0.0.1:8001",
    ]


def test_compose_mounts_nothing_that_can_be_run() -> None:
    mounts = [mount for service in COMPOSE.values() for mount in service.get("tmpfs", [])]
    assert mounts
    assert [mount for mount in mounts if re.search(r"[:,]exec\b", mount)] == []


def test_compose_waits_for_the_calls_in_work() -> None:
    triton_s = inspect.signature(Server.stop).parameters["timeout_s"].default
    assert int(COMPOSE["plates"]["stop_grace_period"].rstrip("s")) > GATEWAY_S + triton_s


def test_compose_gives_the_service_the_memory_that_it_wants() -> None:
    (text,) = re.findall(r":-(\d+)g}$", COMPOSE["plates"]["mem_limit"])
    workers = count_ours(fitting(16))
    assert int(text) << 30 >= least_bytes(workers)
    assert COMPOSE["plates"]["pids_limit"] >= 2 * (221 + 14 * 30)


def test_compose_of_cameras_is_hardened_like_that_of_the_service() -> None:
    file = PROJECT / "deploy" / "compose.cameras.yaml"
    services = yaml.safe_load(file.read_text())["services"]
    assert [*services] == ["plates", "watch"]
    for service in services.values():
        assert {name: service[name] for name in HARDENED} == {
            name: COMPOSE["plates"][name] for name in HARDENED
        }
        assert service["volumes"] == ["./data:/data"]
        assert EXACT.search(service["image"])
    assert [port.partition(":")[0] for port in services["plates"]["ports"]] == ["127.0.0.1"]
    assert services["watch"]["network_mode"] == "service:plates"
    assert services["plates"]["build"]["args"]["EXTRAS"] == "cameras,gates,excel,notify"


HARDENED = ("read_only", "cap_drop", "security_opt", "restart")


def test_compose_has_no_password_of_its_own() -> None:
    password = COMPOSE["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"]
    assert password.startswith("${GRAFANA_PASSWORD:?")


def test_the_tight_line_is_the_one_that_is_tried() -> None:
    page = (PROJECT / "docs" / "docker.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^docker run (--read-only .*?)^```", page, re.MULTILINE | re.DOTALL)
    options = re.sub(r"[\s\\]+", " ", line).replace("--tmpfs /tmp", "--tmpfs=/tmp").split()
    assert tuple(options[: len(TIGHT)]) == TIGHT
    assert options[len(TIGHT) :] == [
        "-p",
        "127.0.0.1:8000:8000",
        f"plates:{read_version()}-cpu",
        "--no-keys",
    ]


WORKFLOW = yaml.safe_load((PROJECT / ".github" / "workflows" / "release.yml").read_text())
JOBS = WORKFLOW["jobs"]
STEPS = [
    pytest.param(step, id=f"{name}-{number}")
    for name, job in JOBS.items()
    for number, step in enumerate(job["steps"])
]
TARGETS = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
STAGES = set(re.findall(r"^FROM .* AS (\w+)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE))


def test_only_tags_of_versions_publish() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}  # `on` is true in YAML


def test_nothing_is_published_before_all_tests_pass_and_with_no_right_too_many() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {"run": ".ci/run"} in JOBS["wheels"]["steps"]
    for name in ("images", "publish-wheels"):
        assert "wheels" in JOBS[name]["needs"]
        assert JOBS[name]["environment"] == "release"
    images = JOBS["images"]["strategy"]["matrix"]["include"]
    assert {image["target"] for image in images} <= STAGES
    assert {image["kind"]: image["runner"] for image in images} == {
        "cpu": "ubuntu-24.04",
        "cpu-arm64": "ubuntu-24.04-arm",
        "gpu": "ubuntu-24.04",
    }
    assert all(job["timeout-minutes"] <= 120 for job in JOBS.values())


@pytest.mark.parametrize("step", STEPS)
def test_each_step_can_run(step: dict[str, str]) -> None:
    assert ("uses" in step) != ("run" in step)
    assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", step.get("uses", "a/b@v1"))
    script = step.get("run", "")
    assert "${{" not in script  # a tag's name must not become a part of the script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert set(re.findall(r"\bmake ([a-z-]+)", script)) <= TARGETS


@pytest.mark.parametrize(
    ("tag", "changelog", "error"),
    [
        (f"v{read_version()}", f"## [{read_version()}] - 2026-11-25", None),
        ("v9.9.9", f"## [{read_version()}] - 2026-11-25", "tag: wanted v"),
        (f"v{read_version()}", "## [Unreleased]", "CHANGELOG.md: wanted a section"),
    ],
)
def test_a_tag_is_that_of_the_version(tag: str, changelog: str, error: str | None) -> None:
    if error is None:
        check_tag(tag, changelog)
        return
    with pytest.raises(SystemExit, match=error):
        check_tag(tag, changelog)


def test_the_metadata_of_a_wheel_are_valid(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(PROJECT)
    wheel = tmp_path / build_wheel(str(tmp_path))
    assert check_wheel(wheel, NAME) == wheel
    with pytest.raises(SystemExit, match="wanted"):
        check_wheel(wheel, "another-name")
