"""The cameras of a file, followed by one watcher or shared by several."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from plate_cameras.service.run import hold_watch
from plate_cameras.service.targets import check_shared, name_of, read_target

RTSP = "rtsp://user:secret@10.0.0.5:554/stream1/"


@pytest.fixture
def clip(tmp_path: Path) -> str:
    file = tmp_path / "clip.mp4"
    file.touch()
    return str(file)


def test_a_clip_is_looked_at_more_often_than_a_stream_and_names_are_numbered(clip: str) -> None:
    cameras = read_target([clip, RTSP, clip], is_once=False).configuration.cameras
    assert [(camera.name, camera.looks_per_s) for camera in cameras] == [
        ("clip.mp4 (1)", 10),
        ("10.0.0.5", 4),
        ("clip.mp4 (2)", 10),
    ]
    (camera,) = read_target([clip], is_once=True, looks_per_s=2).configuration.cameras
    assert (camera.name, camera.looks_per_s) == ("clip.mp4", 2)


@pytest.mark.parametrize("name", ["CLIP.TS", "clip.mts", "clip.h264", "clip", "clip.webm"])
@pytest.mark.parametrize("scheme", ["", "file://", "FILE://"])
def test_any_file_that_is_there_is_a_clip(tmp_path: Path, name: str, scheme: str) -> None:
    (tmp_path / name).touch()
    (camera,) = read_target([f"{scheme}{tmp_path / name}"], is_once=True).configuration.cameras
    assert (camera.name, camera.looks_per_s) == (name, 10)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        pytest.param(RTSP, "10.0.0.5", id="without password"),
        pytest.param("rtsp://10.0.0.5:7447/s3cret", "10.0.0.5", id="a path may be a secret"),
        pytest.param("rtsp://u:s3@cret@10.0.0.5/1", "10.0.0.5", id="@ in the password"),
        pytest.param("rtsp://u:s3/cret@10.0.0.5/1", "rtsp", id="/ in the password"),
        pytest.param("http://camera/", "camera", id="no-path"),
        pytest.param("/dev/video0", "video0", id="device"),
    ],
)
def test_names_tell_no_secrets(source: str, name: str) -> None:
    assert name_of(source) == name


def test_a_file_of_cameras_is_read(tmp_path: Path) -> None:
    file = tmp_path / "CAMERAS.toml"
    file.write_text('[[cameras]]\nname = "gate"\nurl = "rtsp://gate"\n')
    target = read_target([str(file)], is_once=False)
    assert (target.file, target.configuration.cameras[0].name) == (file, "gate")
    with pytest.raises(SettingsError, match="--looks: wanted without a file"):
        read_target([str(file)], is_once=False, looks_per_s=2)
    with pytest.raises(SettingsError, match="one file of cameras alone, got 2"):
        read_target([str(file), RTSP], is_once=False)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("none.mp4", r"none\.mp4: no such file", id="missing"),
        pytest.param(RTSP, r"got 10\.0\.0\.5, which has no end", id="endless"),
    ],
)
def test_a_source_that_cannot_be_watched_to_its_end_is_told(source: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_target([source], is_once=True)


def test_only_a_file_of_cameras_can_be_shared(clip: str, tmp_path: Path) -> None:
    file = tmp_path / "CAMERAS.toml"
    file.write_text('[[cameras]]\nname = "gate"\nurl = "rtsp://camera"\n', encoding="utf-8")
    target = read_target([str(file)], is_once=False)
    check_shared(target, is_once=False)
    with pytest.raises(SettingsError, match="--share: wanted a file"):
        check_shared(target, is_once=True)
    with pytest.raises(SettingsError, match="--share: wanted a file"):
        check_shared(read_target([clip], is_once=False), is_once=False)


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

    with ExitStack() as stack:
        stack.enter_context(hold_watch(file, spool, is_shared=first))
        with pytest.raises(SettingsError, match=r"another plates watch follows it.*--share"):
            stack.enter_context(hold_watch(file, spool, is_shared=second))


def test_a_link_leads_to_the_same_watch(tmp_path: Path) -> None:
    file, link = tmp_path / "CAMERAS.toml", tmp_path / "link.toml"
    file.touch()
    link.symlink_to(file)

    with ExitStack() as stack:
        stack.enter_context(hold_watch(file, tmp_path, is_shared=False))
        with pytest.raises(SettingsError, match=r"link\.toml: another"):
            stack.enter_context(hold_watch(link, tmp_path, is_shared=False))
    with hold_watch(link, tmp_path, is_shared=False):
        pass  # the next watcher may follow the file


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "spool").touch()

    with (
        pytest.raises(SettingsError, match="spool"),
        hold_watch(tmp_path / "CAMERAS.toml", tmp_path / "spool", is_shared=False),
    ):
        pass
