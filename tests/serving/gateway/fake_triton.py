"""A fake Triton that finds no plates, and holds calls until the test releases them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from orchestrator.contract import OF_A_READING, OUTPUTS, PLATE_READER, STAGE_SECONDS, STAGES


class FakeTriton(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Answers every call with no rows.

    Attributes:
        gate: Calls are answered while it is set.
        call_permits: One permit for each call that came in, without health checks.
        cancelled: Set when a call was cancelled.
        requests: Those that came in.
    """

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.call_permits = threading.Semaphore(0)
        self.cancelled = threading.Event()
        self.requests: list[pb.ModelInferRequest] = []

    def reset(self) -> None:
        """Forget earlier calls, and answer the next ones at once."""
        self.gate.set()
        self.cancelled.clear()
        while self.call_permits.acquire(blocking=False):
            pass

    def ModelInfer(self, request, context):  # noqa: N802 - gRPC's
        if request.id != "probe":
            self.requests.append(request)
            context.add_callback(lambda: context.is_active() or self.cancelled.set())
            self.call_permits.release()
            self.gate.wait(30)
        names = [output.name for output in request.outputs]
        names = names or (OF_A_READING if request.model_name == PLATE_READER else OUTPUTS)
        outputs = [output_without_plates(name) for name in names]
        return pb.ModelInferResponse(
            model_name=request.model_name,
            model_version="1",
            id=request.id,
            outputs=outputs,
            raw_output_contents=[
                bytes(4 * len(STAGES)) if name == STAGE_SECONDS else b"" for name in names
            ],
        )

    def ModelReady(self, request, context):  # noqa: N802
        return pb.ModelReadyResponse(ready=True)


def output_without_plates(name: str) -> pb.ModelInferResponse.InferOutputTensor:
    if name == STAGE_SECONDS:
        return pb.ModelInferResponse.InferOutputTensor(
            name=name, datatype="FP32", shape=[len(STAGES)]
        )
    is_text = OUTPUTS[name].dtype.__name__ == "object_"
    return pb.ModelInferResponse.InferOutputTensor(
        name=name, datatype="BYTES" if is_text else "FP32", shape=[0, *OUTPUTS[name].row_shape]
    )


@contextmanager
def run_fake(port: int) -> Iterator[FakeTriton]:
    """Run the fake on a gRPC port for a `with` block; yield it."""
    fake = FakeTriton()
    with ThreadPoolExecutor(32) as pool:
        server = grpc.server(pool, options=[("grpc.max_receive_message_length", -1)])
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(fake, server)
        server.add_insecure_port(f"127.0.0.1:{port}")
        server.start()
        try:
            yield fake
        finally:
            fake.gate.set()
            server.stop(None).wait()
