"""Stream clips to a temporary server and print each plate when it arrives."""

import io
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import av
import numpy as np
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.utils import InferenceServerException

from orchestrator.imaging.files import Bgr
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.rendering.scenery import Scene, scene

REPOSITORY = Path(__file__).with_name("model_repository")
WIDE, HIGH, RATE = 960, 720, 10
TEXTS = ("A123BC77", "M456OP199")


def stream(url: str, clip: bytes, **parameters: str | float) -> Iterator[Any]:
    """Yield the responses as they arrive; closing the iterator cancels the request."""
    arrived: SimpleQueue[Any] = SimpleQueue()
    clip_input = InferInput("clip", [1], "BYTES")
    clip_input.set_data_from_numpy(np.array([clip], np.object_))
    with InferenceServerClient(url) as client, ExitStack() as end:
        end.callback(client.stop_stream, cancel_requests=True)
        client.start_stream(lambda result, error: arrived.put(error or result))
        client.async_stream_infer(
            "plates_stream", [clip_input], parameters=parameters, enable_empty_final_response=True
        )
        while not isinstance(response := arrived.get(), Exception):
            if response.get_response().parameters["triton_final_response"].bool_param:
                return
            yield response
        raise response


def draw_street(texts: Sequence[str]) -> Scene:
    """Draw a street of parked cars, wider than the camera's picture."""
    return scene(texts, (WIDE * (len(texts) + 2), HIGH), columns=len(texts))


def render(street: Bgr, frames: int = 40) -> bytes:
    """Return an MP4 file of a camera that turns past a street, from left to right."""
    clip = io.BytesIO()
    with av.open(clip, "w", format="mp4") as file:
        video = file.add_stream("libx264", rate=RATE, options={"preset": "veryfast"})
        video.width, video.height, video.pix_fmt = WIDE, HIGH, "yuv420p"
        for left in np.linspace(0, street.shape[1] - WIDE, frames).astype(int):
            frame = av.VideoFrame.from_ndarray(street[:, left : left + WIDE], format="bgr24")
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
    return clip.getvalue()


def main(paths: Sequence[str]) -> None:
    clips = {path: Path(path).read_bytes() for path in paths}
    with own_server(ServerOptions(beside=(REPOSITORY,))) as server:
        for name, clip in (clips or {"rendered": render(draw_street(TEXTS).picture)}).items():
            start_s = time.monotonic()
            print(f"{name}: {len(clip)} bytes")
            for response in stream(server.grpc_url, clip):
                texts = " ".join(
                    text.decode() or "?" for text in response.as_numpy("texts").ravel()
                )
                at_s, after_s = response.as_numpy("time_s")[0], time.monotonic() - start_s
                print(f"  at {at_s:5.2f} s  {texts:20}  arrived after {after_s:5.2f} s")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, InferenceServerException) as error:
        sys.exit(str(error))
