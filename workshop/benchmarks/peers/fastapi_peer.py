"""The pipeline behind FastAPI: one endpoint, which takes a JPEG file and answers plates as JSON."""

from __future__ import annotations

import os

import cv2
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

from orchestrator.errors import RequestError
from workshop.benchmarks.peers.settings import PeerSettings


def create() -> FastAPI:
    """Return the application of one worker, which has loaded its networks.

    A worker processes one picture at a time, in the thread of its event loop. Pictures in several
    threads of one worker would compete for its core.
    """
    cv2.setNumThreads(1)  # as in Triton's workers
    pipeline = PeerSettings.read(os.environ).open()
    application = FastAPI(openapi_url=None)

    @application.post("/recognize")
    async def recognize(request: Request) -> JSONResponse:
        encoded = await request.body()
        try:
            return JSONResponse(pipeline.read(encoded).to_dict())
        except RequestError as error:
            raise HTTPException(400, str(error)) from error

    @application.get("/ready")
    async def ready() -> None:
        """Answer when the application has started; `create` has loaded the networks."""

    return application
