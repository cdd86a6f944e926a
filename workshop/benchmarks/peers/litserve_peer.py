"""The pipeline behind LitServe, with one process of inference for each worker.

LitServe reads annotations at run time, so they are no strings here. It is no dependency of the
project; the peer is measured where the package is installed.
"""

import os
import sys
from typing import Annotated

import cv2
import litserve
from fastapi import Body, HTTPException
from fastapi.responses import JSONResponse, Response

from orchestrator.errors import RequestError
from orchestrator.plates import Plates
from workshop.benchmarks.peers.settings import PeerSettings

Jpeg = Annotated[bytes, Body(media_type="image/jpeg")]


class Recognition(litserve.LitAPI):  # type: ignore[misc]  # the package has no types here
    """The model of LitServe: takes a JPEG file and answers plates as JSON."""

    def setup(self, device: str) -> None:
        """Load the networks into a process of inference."""
        cv2.setNumThreads(1)  # as in Triton's workers
        self.pipeline = PeerSettings.read(os.environ).open()

    def decode_request(self, request: Jpeg) -> bytes:
        return request

    def predict(self, x: bytes) -> Plates:
        try:
            return self.pipeline.read(x)
        except RequestError as error:
            raise HTTPException(400, str(error)) from error

    def encode_response(self, output: Plates) -> Response:
        return JSONResponse(output.to_dict())


def main(port: int, workers: int) -> None:
    """Serve until a signal; the number of its HTTP processes is LitServe's own choice."""
    server = litserve.LitServer(
        Recognition(api_path="/recognize"), accelerator="cpu", workers_per_device=workers
    )
    server.run(host="127.0.0.1", port=port, generate_client_file=False, log_level="warning")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
