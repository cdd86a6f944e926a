"""The whole corpus: every input is answered or rejected, within a memory limit."""

import multiprocessing
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.errors import ModelError
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse
from tests.fuzzing.doors import (
    LIMITS,
    SERVICE_OF_ALL,
    DoorFault,
    RawRequest,
    ask,
    check_refusal,
    open_picture,
    pack,
    unpack,
)
from tests.fuzzing.file_parts import Files
from tests.fuzzing.hostile import pictures, requests
from tests.fuzzing.hostile_calls import Requests, wholes
from tests.fuzzing.hostile_pictures import wholes as whole_pictures
from tests.samples import PROJECT

OF_CLIENTS = (*wholes(), "message: a file", "message: pixels", "form: one picture", "base64: plain")
MIB = 1024 * 1024
ROOM = """
import resource
import torch
from orchestrator.errors import PictureError
from orchestrator.imaging.decoding import decode
from orchestrator.reading.crops import resize_crop
from tests.fuzzing.hostile_bombs import bombs
from tests.fuzzing.hostile_pictures import wholes

files = bombs()
torch.set_num_threads(1)
for file in wholes().values():
    resize_crop(decode(file))
tall = torch.zeros(1_000_000, 1, 3, dtype=torch.uint8)
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + {room}, taken + {room}))
for name, file in files.items():
    try:
        decode(file, max_pixels=1_000_000)
    except PictureError:
        pass
resize_crop(tall)
"""
"""Program that decodes the bombs and resizes a tall crop with limited address space."""


@pytest.fixture(scope="module")
def hostile_files() -> Files:
    return pictures()


@pytest.fixture(scope="module")
def hostile_requests() -> Requests:
    return requests()


def outcomes(send: Callable[[Any], str], inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return what came of each input: `answered`, `refused`, or the fault."""

    def outcome_of(hostile: Any) -> str:
        try:
            return send(hostile)
        except Exception as fault:
            return repr(fault)

    return {name: outcome_of(hostile) for name, hostile in inputs.items()}


def faults(results: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in results.items() if text not in ("answered", "refused")}


def test_a_file_is_a_picture_or_refused(hostile_files: Files) -> None:
    results = outcomes(open_picture, hostile_files)
    assert faults(results) == {}
    assert {results[name] for name in whole_pictures()} == {"answered"}


def test_a_request_is_answered_or_refused(hostile_requests: Requests) -> None:
    results = outcomes(ask, hostile_requests)
    assert faults(results) == {}
    assert {results[name] for name in OF_CLIENTS} == {"answered"}


def test_bombs_take_no_more_memory_than_they_may() -> None:
    subprocess.run([sys.executable, "-c", ROOM.format(room=128 * MIB)], cwd=PROJECT, check=True)


def test_requests_take_some_times_their_bytes(hostile_requests: Requests) -> None:
    """Small numbers in JSON need the most memory: 8 bytes each."""
    tracemalloc.start()
    for request in hostile_requests.values():
        ask(request)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * LIMITS.body_bytes


def test_a_size_of_json_that_lies_starts_no_process() -> None:
    assert ask(RawRequest("kserve", "99999999999", b"{}")) == "refused"
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("name", ["a file", "message: a file", "form: one picture"])
def test_a_door_tells_of_what_is_neither_answer_nor_refusal(
    name: str, hostile_requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def infer(_call: object, call: InferenceRequest) -> InferenceResponse:
        raise ModelError("broken")

    monkeypatch.setattr(SERVICE_OF_ALL, "infer", infer)
    with pytest.raises(DoorFault, match="fault: ModelError"):
        ask(hostile_requests[name])


def test_a_refusal_is_short() -> None:
    with pytest.raises(DoorFault, match="refusal: wanted up to 4096 bytes, got 4097"):
        check_refusal("a" * 4097)


def test_a_request_is_one_input_of_a_fuzzer_and_back(hostile_requests: Requests) -> None:
    all_requests = [*hostile_requests.values()]
    assert [unpack(pack(request)) for request in all_requests] == all_requests


def test_the_page_counts_the_corpus(hostile_files: Files, hostile_requests: Requests) -> None:
    page = (PROJECT / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    assert f"{len(hostile_files)} picture files and {len(hostile_requests)} requests" in page
