"""A clip's plates arrive over gRPC one by one, until its end or the caller's cancellation."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from examples.stream import __main__ as example
from examples.stream.__main__ import RATE, draw_street, main, render, stream
from orchestrator.contract import MODEL
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.rendering.scenery import Scene

pytestmark = pytest.mark.server
TEXTS = ["A123BC77", "M456OP199"]
SAID = r"^  at  \d\.\d\d s  \S+ +arrived after +\d+\.\d\d s$"
FRAMES, LONG = 40, 100
WIDE, HIGH = 480, 360


@pytest.fixture(scope="module", autouse=True)
def _small_pictures() -> Iterator[None]:
    """Draw clips with a quarter of the usual pixels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(example, "WIDE", WIDE)
        patch.setattr(example, "HIGH", HIGH)
        yield


@pytest.fixture(scope="module")
def url(server: ServerOptions) -> str:
    return server.grpc_url


@pytest.fixture(scope="module")
def street() -> Scene:
    return draw_street(TEXTS)


@pytest.fixture(scope="module")
def clip(street: Scene) -> bytes:
    return render(street.picture, FRAMES)


@pytest.fixture(scope="module")
def long_clip(street: Scene) -> bytes:
    return render(street.picture, LONG)


@pytest.fixture(scope="module")
def responses(url: str, clip: bytes) -> list[Any]:
    """All responses to `clip`."""
    return [*stream(url, clip)]


@pytest.fixture(scope="module")
def plates_xyxy(street: Scene) -> np.ndarray:
    """Boxes, in pixels, of the plates in the street that `clip` shows."""
    return street.xyxy


def texts_of(response: Any) -> list[str]:
    return [text.decode() for text in response.as_numpy("texts").ravel()]


def by_frame(responses: Iterable[Any]) -> dict[int, list[str]]:
    return {int(response.as_numpy("frame")[0]): texts_of(response) for response in responses}


def count_executions(url: str) -> int:
    """Return the number of pictures that `plate_recognition` has executed."""
    with tritonclient.grpc.InferenceServerClient(url) as client:
        (model,) = client.get_inference_statistics(MODEL).model_stats
        return int(model.execution_count)


def lefts() -> np.ndarray:
    """Return the left side of each frame of `clip` in the street, in pixels."""
    return np.linspace(0, WIDE * (len(TEXTS) + 1), FRAMES).astype(int)


@pytest.mark.parametrize("index", [0, 1])
def test_a_plate_that_is_whole_in_the_picture_is_read(
    responses: list[Any], plates_xyxy: np.ndarray, index: int
) -> None:
    x0, _, x1, _ = plates_xyxy[index]
    whole = np.flatnonzero((lefts() < x0 - 20) & (x1 + 20 < lefts() + WIDE))
    texts_by_frame = by_frame(responses)
    assert len(whole) >= 5
    assert [frame for frame in whole if TEXTS[index] not in texts_by_frame.get(frame, [])] == []


def test_each_response_says_when_its_frame_is_shown(responses: list[Any]) -> None:
    times_by_frame = {
        int(response.as_numpy("frame")[0]): response.as_numpy("time_s")[0] for response in responses
    }
    assert len(times_by_frame) >= 10
    assert [*times_by_frame.values()] == pytest.approx([frame / RATE for frame in times_by_frame])


def test_a_response_holds_what_plate_recognition_gives(responses: list[Any]) -> None:
    first = responses[0]
    rows = len(first.as_numpy("texts"))
    shapes = {name: first.as_numpy(name).shape for name in ("coordinates", "corners", "formats")}
    assert shapes == {"coordinates": (rows, 4), "corners": (rows, 4, 2), "formats": (rows, 1)}


def test_parameters_reach_plate_recognition(url: str, clip: bytes) -> None:
    assert list(stream(url, clip, detection_threshold=1.0)) == []
    assert set().union(*by_frame(stream(url, clip, text_threshold=1.0)).values()) == {""}


def test_a_cancelled_stream_stops_working(url: str, clip: bytes, long_clip: bytes) -> None:
    before, cancelled_stream = count_executions(url), stream(url, long_clip)
    next(cancelled_stream)
    cancelled_stream.close()
    others = [list(stream(url, clip)) for _ in range(3)]  # half of the places would be left to it
    assert min(map(len, others)) >= 10
    assert count_executions(url) - before - 3 * FRAMES < LONG / 2


def refuse(url: str, clip: bytes) -> tuple[int, InferenceServerException]:
    """Return the number of responses before a clip is rejected, and the error message."""
    responses: list[Any] = []
    with pytest.raises(InferenceServerException) as error:
        responses.extend(stream(url, clip))
    return len(responses), error.value


def test_bytes_that_are_no_clip_are_refused_and_the_next_clip_is_answered(
    url: str, clip: bytes
) -> None:
    count, error = refuse(url, b"no clip")
    assert count == 0
    assert "clip: wanted a whole video file (mov,mp4,matroska,webm,mpegts)" in str(error)
    assert "got 7 bytes" in str(error)
    assert TEXTS[0] in set().union(*by_frame(stream(url, clip)).values())


def test_a_call_that_cannot_stream_is_refused(server: ServerOptions) -> None:
    clip_input = tritonclient.http.InferInput("clip", [1], "BYTES")
    clip_input.set_data_from_numpy(np.array([b"clip"], np.object_))
    with (
        tritonclient.http.InferenceServerClient(server.http_url) as client,
        pytest.raises(InferenceServerException, match="decoupled"),
    ):
        client.infer("plates_stream", [clip_input])


def test_the_example_prints_a_line_for_each_response(
    server: ServerOptions,
    tmp_path: Path,
    street: Scene,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The server of the other tests, which has the same model, stands in for its own."""
    monkeypatch.setattr(example, "own_server", lambda _: nullcontext(server))
    (tmp_path / "short.mp4").write_bytes(render(street.picture, 12))
    main([str(tmp_path / "short.mp4")])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith(f"{tmp_path}/short.mp4: ")
    assert "A123BC77  " in "".join(lines)
    assert [line for line in lines if not re.search(SAID, line)] == []


@pytest.mark.photos
@pytest.mark.parametrize("name", ["checkpoint.mp4", "phone.mp4", "street.mp4"])
def test_clips_of_real_cameras_give_their_clear_plates(photos: Path, url: str, name: str) -> None:
    folder = photos / "cameras" / "clips"
    with (folder / "labels.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["file"] == name]
    clear_texts = {row["text"] for row in rows if row["note"].endswith("clear")}
    texts_by_frame = by_frame(stream(url, (folder / name).read_bytes()))
    counts = Counter(text for texts in texts_by_frame.values() for text in texts)
    assert clear_texts
    assert min(counts[text] for text in clear_texts) >= 3
