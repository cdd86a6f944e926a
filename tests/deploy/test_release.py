"""The workflow that publishes a release, and the wheels that it publishes."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from poetry.core.masonry.api import build_wheel

from orchestrator.host.distribution import NAME, read_version
from scripts.wheels import check_tag, check_wheel
from tests.samples import PROJECT

WORKFLOW = yaml.safe_load((PROJECT / ".github" / "workflows" / "release.yml").read_text())
JOBS = WORKFLOW["jobs"]
STEPS = [
    pytest.param(step, id=f"{name}-{at}")
    for name, job in JOBS.items()
    for at, step in enumerate(job["steps"])
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
