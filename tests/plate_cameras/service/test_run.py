"""The cameras of a file, followed by one watcher or shared by several."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.service.run import hold_watch


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(False, False, id="neither-shares"),
        pytest.param(False, True, id="the-first-does-not-share"),
        pytest.param(True, False, id="the-second-does-not-share"),
    ],
)
def test_a_second_watcher_that_would_see_the_same_is_told_what_to_do(
    tmp_path: Path, *, first: bool, second: bool
) -> None:
    file, spool = tmp_path / "CAMERAS.toml", tmp_path / "spool"

    with ExitStack() as held:
        held.enter_context(hold_watch(file, spool, is_shared=first))
        with pytest.raises(SettingsError, match=r"another plates watch follows it.*--share"):
            held.enter_context(hold_watch(file, spool, is_shared=second))


def test_the_next_watcher_may_follow_the_file(tmp_path: Path) -> None:
    file = tmp_path / "CAMERAS.toml"

    with hold_watch(file, tmp_path, is_shared=False):
        pass
    with hold_watch(file, tmp_path, is_shared=False):
        pass


def test_a_link_leads_to_the_same_watch(tmp_path: Path) -> None:
    file, link = tmp_path / "CAMERAS.toml", tmp_path / "link.toml"
    file.touch()
    link.symlink_to(file)

    with ExitStack() as held:
        held.enter_context(hold_watch(file, tmp_path, is_shared=False))
        with pytest.raises(SettingsError, match=r"link\.toml: another"):
            held.enter_context(hold_watch(link, tmp_path, is_shared=False))


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "spool").touch()

    with (
        pytest.raises(SettingsError, match="spool"),
        hold_watch(tmp_path / "CAMERAS.toml", tmp_path / "spool", is_shared=False),
    ):
        pass
