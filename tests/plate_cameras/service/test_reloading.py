"""Valid and invalid changes of the file of cameras."""

import asyncio
import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Configuration
from plate_cameras.service.reloading import Reloader
from plate_cameras.service.targets import read_target

GOOD = '[[cameras]]\nname = "gate"\nurl = "rtsp://10.0.0.5/"\n'
SINK = '\n[[sinks]]\nname = "erp"\ntype = "webhook"\nurl = "https://erp.example/"\n'


class ReloadedFile:
    """A file of cameras, and the results of its changes."""

    def __init__(self, file: Path, *failures: Exception) -> None:
        file.write_text(GOOD)
        self.file, self.failures = file, [*failures]
        self.configurations: list[Configuration] = []
        self.messages: list[str] = []
        self.stamp = 0
        self.reloader = Reloader(file, self.apply, self.messages.append)

    async def apply(self, configuration: Configuration) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.configurations.append(configuration)

    def write(self, content: str | bytes) -> None:
        """Write the file with a new timestamp, however fast this test runs."""
        self.file.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.stamp += 1
        os.utime(self.file, (self.stamp, self.stamp))

    def look(self) -> None:
        asyncio.run(self.reloader.look())


@pytest.fixture
def site(tmp_path: Path) -> ReloadedFile:
    return ReloadedFile(tmp_path / "CAMERAS.toml")


def test_a_change_is_taken_over_and_told(site: ReloadedFile) -> None:
    site.look()
    assert not site.configurations
    site.write(GOOD + "# changed\n")
    site.look()
    assert len(site.configurations) == 1
    assert site.messages == [f"reloaded {site.file}: 1 cameras"]


def test_a_change_during_the_start_is_taken_over(site: ReloadedFile) -> None:
    target = read_target([str(site.file)], is_once=False)
    site.write(GOOD + "# changed\n")
    site.reloader = Reloader(site.file, site.apply, site.messages.append, target.stamp)
    site.look()
    assert len(site.configurations) == 1


def vanish(site: ReloadedFile) -> None:
    site.file.unlink()


def become_a_folder(site: ReloadedFile) -> None:
    site.file.unlink()
    site.file.mkdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(vanish, "No such file or directory", id="vanished"),
        pytest.param(become_a_folder, "Is a directory", id="a folder"),
        pytest.param(lambda site: site.write(""), "wanted cameras, got none", id="empty"),
        pytest.param(lambda site: site.write(GOOD[:20]), "Unterminated", id="half written"),
        pytest.param(lambda site: site.write(b"\xff"), r"no UTF-8 \(at line 1\)", id="no UTF-8"),
        pytest.param(lambda site: site.write("a = 1\n" + GOOD), "at line 1", id="unknown key"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_once_and_changes_nothing(
    site: ReloadedFile, damage: Callable[[ReloadedFile], None], reason: str
) -> None:
    damage(site)
    site.look()
    site.look()
    assert not site.configurations
    (message,) = site.messages
    assert re.search(reason, message)


def test_a_part_that_cannot_be_made_is_told_with_its_line(tmp_path: Path) -> None:
    site = ReloadedFile(
        tmp_path / "CAMERAS.toml", SettingsError("sink erp: wanted a secret, got none")
    )
    site.write(GOOD + SINK)
    site.look()
    message = f"not reloaded: {site.file}: sink erp: wanted a secret, got none (at line 5)"
    assert site.messages == [message]


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("can't start new thread")]
)
def test_what_may_work_later_is_tried_again_without_another_change(
    tmp_path: Path, error: Exception
) -> None:
    site = ReloadedFile(tmp_path / "CAMERAS.toml", error, error)
    site.write(GOOD + "\n")
    site.look()
    site.look()
    assert len(site.messages) == 1
    site.look()
    assert len(site.configurations) == 1
