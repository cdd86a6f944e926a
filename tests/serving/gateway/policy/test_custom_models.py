"""Calls of models that the operator named."""

from math import prod

import pytest
from tritonclient.grpc import service_pb2 as pb

from orchestrator.errors import RequestError
from orchestrator.serving.gateway.policy.custom_models import check_by_metadata
from orchestrator.serving.protocol.inference import InferenceRequest, Tensor

About = pb.ModelMetadataResponse.TensorMetadata
METADATA = pb.ModelMetadataResponse(
    inputs=[
        About(name="picture", datatype="UINT8", shape=[-1, -1, 3]),
        About(name="scale", datatype="FP16", shape=[1]),
        About(name="words", datatype="BYTES", shape=[-1]),
    ],
    outputs=[About(name="hidden", datatype="UINT8", shape=[-1, -1, 3])],
)


def tensor(datatype: str, *shape: int) -> Tensor:
    size = prod(shape)
    return Tensor("picture", datatype, shape, bytes(size if size < 100 else 6))


PICTURE = tensor("UINT8", 2, 1, 3)


def call(*inputs: Tensor, outputs: tuple[str, ...] = ()) -> InferenceRequest:
    return InferenceRequest("hide_plates", inputs, outputs)


@pytest.mark.parametrize(
    "valid_call",
    [
        pytest.param(call(PICTURE), id="one of its inputs"),
        pytest.param(call(PICTURE, outputs=("hidden",)), id="an output"),
        pytest.param(call(tensor("UINT8", 0, 5, 3)), id="no pixels"),
        pytest.param(call(Tensor("scale", "FP16", (1,), b"\0\0")), id="half precision"),
        pytest.param(call(Tensor("words", "BYTES", (1,), b"\1\0\0\0a")), id="texts"),
        pytest.param(call(), id="nothing: Triton says what is missing"),
    ],
)
def test_a_call_by_the_models_metadata_passes(valid_call: InferenceRequest) -> None:
    assert check_by_metadata(valid_call, METADATA) == valid_call


@pytest.mark.parametrize(
    ("wrong_call", "message"),
    [
        (
            call(Tensor("photo", "UINT8", (1,), b"0")),
            "^inputs: .* picture, scale, words, got 'pho",
        ),
        (call(PICTURE, outputs=("shown",)), "^outputs: wanted some of hidden, got 'shown'$"),
        (call(tensor("INT8", 2, 1, 3)), r"^picture: .*UINT8 \[-1, -1, 3\], got INT8 \[2, 1, 3\]$"),
        (call(tensor("UINT8", 2, 1, 4)), r"wanted UINT8 \[-1, -1, 3\], got UINT8 \[2, 1, 4\]$"),
        (call(tensor("UINT8", 6)), r"got UINT8 \[6\]$"),
        (call(tensor("UINT8", 2**40, 2**40, 3)), "^picture: wanted [0-9]+ bytes by .*, got 6$"),
        (
            call(Tensor("words", "BYTES", (2,), b"\1\0\0\0a")),
            "^words: wanted 2 elements .* got 1$",
        ),
    ],
)
def test_another_call_is_refused(wrong_call: InferenceRequest, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        check_by_metadata(wrong_call, METADATA)
