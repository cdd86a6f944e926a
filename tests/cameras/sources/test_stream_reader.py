from pathlib import Path

import pytest

from orchestrator.cameras.motion import SIZE_WH
from orchestrator.cameras.sources.stream_reader import StreamError, StreamReader
from tests.cameras.clips import moving_frames, write_clip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", moving_frames(30))


def test_a_file_is_decoded_with_times_from_its_start(clip: Path) -> None:
    with StreamReader(str(clip)) as reader:
        frames = [*reader.frames()]
    assert (reader.is_file, reader.clock) == (True, "file")
    assert [frame.time_s for frame in frames] == pytest.approx([n / 10 for n in range(30)])
    assert [n for n, frame in enumerate(frames) if frame.is_key] == [0, 10, 20]
    assert frames[0].size_wh == (320, 180)


def test_key_frames_alone_are_decoded_while_nothing_moves(clip: Path) -> None:
    """All frames are whole again from the key frame on after which they are wanted."""
    with StreamReader(str(clip)) as reader:
        reader.decode_key_frames_only(is_wanted=True)
        seen = []
        for frame in reader.frames():
            seen.append(round(frame.time_s * 10))
            if seen[-1] == 10:
                reader.decode_key_frames_only(is_wanted=False)
                at_11 = None
            elif seen[-1] == 11:
                at_11 = frame.video.to_ndarray(format="bgr24")
    assert seen == [0, *range(10, 30)]
    (wanted,) = (one for n, one in enumerate(moving_frames(30)) if n == 11)
    assert at_11 is not None
    assert abs(at_11.astype(float) - wanted).mean() < 12


def test_brightness_is_a_small_picture(clip: Path) -> None:
    with StreamReader(str(clip)) as reader:
        luma = next(reader.frames()).to_luma()
    assert luma.shape == (SIZE_WH[1], SIZE_WH[0])
    assert luma[75, 10] > 200  # the white block
    assert luma[20, 200] < 120


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param("none.mp4", "there is no such file", id="no-file"),
        pytest.param("rtsp://user:secret@127.0.0.1:1/stream", "refused", id="no-server"),
        pytest.param("/dev/video99", "No such file", id="no-device"),
    ],
)
def test_what_cannot_be_opened_is_told_without_its_password(url: str, message: str) -> None:
    with pytest.raises(StreamError, match=message) as caught:
        StreamReader(url)
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


def test_a_file_that_is_no_video_is_told(tmp_path: Path) -> None:
    text = tmp_path / "clip.mp4"
    text.write_text("no video")
    with pytest.raises(StreamError, match="Invalid data"):
        StreamReader(str(text))
