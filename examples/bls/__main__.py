"""Read pictures with a temporary server that has the model `plates_bls`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tritonclient.http import InferenceServerClient, InferInput

from examples.bls import REPOSITORY
from orchestrator.errors import PictureError
from orchestrator.imaging.decoding import decode_bgr
from orchestrator.imaging.files import Bgr
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from workshop.rendering.scenery import scene

TEXTS = ("A123BC77", "M456OP199")


def ask(url: str, picture: Bgr) -> tuple[npt.NDArray[np.float32], list[str]]:
    """Return the boxes and texts of a picture's plates."""
    picture_input = InferInput("picture", list(picture.shape), "UINT8")
    picture_input.set_data_from_numpy(picture)
    with InferenceServerClient(url) as client:
        answer = client.infer("plates_bls", [picture_input])
    return answer.as_numpy("boxes"), [text.decode() for text in answer.as_numpy("texts")]


def main(paths: Sequence[str]) -> None:
    pictures = {path: decode_bgr(Path(path).read_bytes()) for path in paths}
    pictures = pictures or {"rendered": scene(TEXTS).picture}
    with own_server(ServerOptions(beside=(REPOSITORY,))) as server:
        for name, picture in pictures.items():
            boxes, texts = ask(server.http_url, picture)
            print(f"{name}: {len(boxes)} plates")
            for box, text in zip(boxes.round().astype(int).tolist(), texts, strict=True):
                print(f"  {text or '?':10} {box}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, PictureError) as error:
        sys.exit(str(error))
