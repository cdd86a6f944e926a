"""Calls of Triton itself through system shared memory, which its administrator may register."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from contextlib import suppress

import tritonclient.grpc
from tritonclient.utils import InferenceServerException, shared_memory

from benchmarks.faults.wires import (
    ANSWERED,
    RECONNECT,
    TIMEOUT_S,
    Reply,
    digest_response,
    name_refusal,
)
from benchmarks.pictures import Picture
from orchestrator.contract import MODEL, OUTPUTS, PICTURE
from orchestrator.loopback import PAST_PROXY
from orchestrator.server.options import ADMIN_METADATA

REGION = f"faults_{os.getpid()}_"
"""Names of our regions begin so."""
_numbers = itertools.count()


class SharedCaller:
    """Calls with a region of its own, in which each picture is laid in turn."""

    def __init__(self, address: str, pictures: Sequence[Picture], admin_key: str) -> None:
        self._pictures, self._headers = pictures, {ADMIN_METADATA: admin_key}
        self._name = f"{REGION}{next(_numbers)}"
        self._size = max(picture.bgr.nbytes for picture in pictures)
        self._region = shared_memory.create_shared_memory_region(
            self._name, self._name, self._size, create_only=True
        )
        self._client = tritonclient.grpc.InferenceServerClient(
            address, channel_args=[PAST_PROXY, *RECONNECT]
        )
        self._is_registered = False

    def send(self, number: int) -> Reply:
        try:
            return self._send(self._pictures[number])
        except InferenceServerException as error:
            self._is_registered = False  # a Triton that was started again has forgotten it
            code = str(error.status() or "UNKNOWN").removeprefix("StatusCode.")
            return name_refusal(code, str(error.message()))

    def _send(self, picture: Picture) -> Reply:
        if not self._is_registered:
            self._register()
        shared_memory.set_shared_memory_region(self._region, [picture.bgr])
        tensor = tritonclient.grpc.InferInput(PICTURE, list(picture.bgr.shape), "UINT8")
        tensor.set_shared_memory(self._name, picture.bgr.nbytes)
        outputs = [tritonclient.grpc.InferRequestedOutput(name) for name in OUTPUTS]
        found = self._client.infer(MODEL, [tensor], outputs=outputs, client_timeout=TIMEOUT_S)
        return Reply(ANSWERED, digest_response(found.get_response()))

    def _register(self) -> None:
        with suppress(InferenceServerException):
            self._client.unregister_system_shared_memory(self._name, headers=self._headers)
        self._client.register_system_shared_memory(
            self._name, self._name, self._size, headers=self._headers
        )
        self._is_registered = True

    def close(self) -> None:
        with suppress(InferenceServerException):  # a Triton that has ended has forgotten it
            self._client.unregister_system_shared_memory(self._name, headers=self._headers)
        self._client.close()
        shared_memory.destroy_shared_memory_region(self._region)
