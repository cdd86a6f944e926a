"""Steps of `make image-check` in a Docker engine, as far as they can be checked without one."""

from pathlib import Path

import pytest

from deploy import check_docker, docker
from deploy.image import CheckError


def report(claim: str, holds: bool, detail: str) -> None:
    raise AssertionError(f"nothing was to be checked, got {claim}: {holds} {detail}")


def test_without_an_engine_the_part_is_skipped_and_says_why(monkeypatch, capsys) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    check_docker.check_docker(Path("street.jpg"), [], [], report)
    message = capsys.readouterr().out
    assert message == (
        "skipped: nothing was tried in a Docker engine: wanted dockerd and docker on the PATH, "
        "got no dockerd, docker\n"
    )


def test_without_root_the_part_is_skipped_and_says_why(monkeypatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: program)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert docker.find_obstacle() == "wanted root, got an ordinary user"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert docker.find_obstacle() == ""


def test_a_command_that_fails_is_told_in_dockers_words(tmp_path, monkeypatch) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho no such image >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(CheckError, match=r"^wanted docker load to succeed, got: no such image$"):
        docker.docker("load")
