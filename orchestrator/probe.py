#!/usr/bin/env python3
"""Is the service alive? Sends one rendered plate and wants its text back.

Triton's own health says ready while a worker process is dead; an answer says what a caller gets.
The picture takes all four models: a plate is found, straightened and read. For a container's health
check and for Kubernetes' startup and liveness probes; standard library alone, and no import of the
package, so that it starts in milliseconds:

    python3 -IS orchestrator/probe.py --url localhost:8000

Exit status 0: answers right, or is alive but full. 1: anything else, with one sentence on stderr.
"""

from __future__ import annotations

import argparse
import http.client
import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

PICTURE = Path(__file__).resolve().with_name("canary.jpg")
TEXT = "A123BC77"
MODEL = "/v2/models/plate_recognition"
FULL = b"maximum queue size"
"""Words of Triton when the queue is full; unavailable (503) is also a server without a worker."""


class ProbeError(Exception):
    """What is wrong, as one sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Probe once; return the exit status."""
    parser = argparse.ArgumentParser(description="Is the plate recognition service alive?")
    parser.add_argument("--url", default="localhost:8000", help="host:port of its HTTP")
    parser.add_argument("--timeout", type=float, default=10.0, help="of each exchange, seconds")
    given = parser.parse_args(arguments)
    try:
        said = probe(given.url, given.timeout)
    except ProbeError as error:
        sys.stderr.write(f"probe: {given.url}: {error}\n")
        return 1
    sys.stdout.write(f"probe: {given.url}: {said}\n")
    return 0


def probe(url: str, timeout_s: float) -> str:
    """Return how the service is alive.

    Raises:
        ProbeError: It is not; the message says why.
    """
    body, headers = request(PICTURE.read_bytes())
    try:
        status, answer = _exchange(url, timeout_s, "POST", f"{MODEL}/infer", body, headers)
        ready, _ = _exchange(url, timeout_s, "GET", f"{MODEL}/ready")
    except (OSError, http.client.HTTPException) as error:
        raise ProbeError(f"wanted an answer, got {error or type(error).__name__}") from error
    if status == http.client.SERVICE_UNAVAILABLE and FULL in answer and ready == http.client.OK:
        return "full, but alive"  # a restart would only make an overload worse
    if status != http.client.OK:
        raise ProbeError(f"wanted {TEXT}, got HTTP {status}: {_reason(answer)}")
    texts = _texts(answer)
    if texts != [TEXT]:
        raise ProbeError(f"wanted {TEXT}, got {', '.join(texts) or 'no plate'}")
    if ready != http.client.OK:  # one of several workers died: Triton 26.04 and later say so
        raise ProbeError(f"wanted every worker, got {TEXT} but a model that is not ready")
    return f"read {TEXT}"


def request(picture: bytes) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of an infer call: KServe's JSON, then the picture as it is.

    Source: Triton Inference Server, "Binary Tensor Data Extension".
    """
    element = struct.pack("<I", len(picture)) + picture  # a BYTES element tells its length
    encoded = {
        "name": "encoded_image",
        "datatype": "BYTES",
        "shape": [1],
        "parameters": {"binary_data_size": len(element)},
    }
    texts = {"name": "texts", "parameters": {"binary_data": False}}
    call = json.dumps({"id": "probe", "inputs": [encoded], "outputs": [texts]}).encode()
    headers = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(len(call)),
    }
    return call + element, headers


def _exchange(
    url: str,
    timeout_s: float,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(url, timeout=timeout_s)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _texts(answer: bytes) -> list[str]:
    """Return the texts of an infer call's JSON."""
    try:
        (output,) = json.loads(answer)["outputs"]
        return [str(text) for text in output["data"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ProbeError(f"wanted the answer to an infer call, got {answer[:80]!r}") from error


def _reason(answer: bytes) -> str:
    """Return the error of an answer, on one line."""
    try:
        reason = json.loads(answer)["error"]
    except (ValueError, KeyError, TypeError):
        reason = answer.decode(errors="replace")
    return " ".join(str(reason).split())[:300] or "no reason"


if __name__ == "__main__":
    sys.exit(main())
