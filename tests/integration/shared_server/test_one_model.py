"""A server of `plates serve --one-model` answers byte for byte as the shared server with BLS."""

from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from tritonclient.http import InferenceServerClient
from tritonclient.utils import InferenceServerException

from orchestrator.contract import CROP, MODEL, OUTPUTS, PLATE_READER
from orchestrator.networks.registry import NETWORKS
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from tests.integration.conftest import GREY, Wire
from tests.samples import STREET


@pytest.fixture(scope="module")
def one_model() -> Iterator[InferenceServerClient]:
    with (
        own_server(ServerOptions(one_model=True, pictures=1)) as options,
        InferenceServerClient(options.http_url) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def bls(server: Server) -> Iterator[InferenceServerClient]:
    with InferenceServerClient(server.options.http_url) as client:
        yield client


def answer(
    client: InferenceServerClient, model: str, tensor: object, **parameters: object
) -> dict[str, object] | str:
    """Return every output, or the error."""
    try:
        result = client.infer(model, [tensor], parameters=parameters or None)
    except InferenceServerException as error:
        return error.message().removeprefix("in ensemble 'plate_reader', ")  # Triton's words
    outputs = [entry["name"] for entry in result.get_response()["outputs"]]
    arrays = {name: result.as_numpy(name) for name in outputs if name in OUTPUTS}
    return {name: (array.dtype, array.tolist()) for name, array in arrays.items()}


@pytest.fixture
def http(server: Server) -> Wire:
    import tritonclient.http

    return Wire(tritonclient.http, server.options.http_url, server.options.http_url)


STREET_BGR = cv2.imread(str(STREET))
CALLS = [
    pytest.param(STREET.read_bytes(), {}, id="street"),
    pytest.param(STREET_BGR, {}, id="pixels"),
    pytest.param(cv2.flip(STREET_BGR, -1), {}, id="nothing to read"),
    pytest.param(GREY, {}, id="no plate"),
    pytest.param(STREET_BGR, {"max_plates": 1, "detector_side_px": 640}, id="parameters"),
    pytest.param(STREET_BGR[:, :, 0].copy(), {}, id="wrong shape"),
    pytest.param(b"no picture", {}, id="no picture"),
    pytest.param(STREET_BGR, {"detector_side_px": 33}, id="wrong parameter"),
]


@pytest.mark.parametrize(("picture", "parameters"), CALLS)
def test_pictures_are_answered_alike(
    http: Wire,
    one_model: InferenceServerClient,
    bls: InferenceServerClient,
    picture: np.ndarray | bytes,
    parameters: dict[str, int],
) -> None:
    tensor = http.file(picture) if isinstance(picture, bytes) else http.pixels(picture)
    assert answer(one_model, MODEL, tensor, **parameters) == answer(
        bls, MODEL, tensor, **parameters
    )


def test_crops_are_answered_alike(
    http: Wire, one_model: InferenceServerClient, bls: InferenceServerClient
) -> None:
    crop = np.ascontiguousarray(STREET_BGR[332:382, 219:430])
    for array in (crop, crop[:0]):
        tensor = http.pixels(array, CROP)
        assert answer(one_model, PLATE_READER, tensor) == answer(bls, PLATE_READER, tensor)


def test_only_two_models_are_loaded(one_model: InferenceServerClient) -> None:
    assert all(map(one_model.is_model_ready, (MODEL, PLATE_READER)))
    assert not any(map(one_model.is_model_ready, NETWORKS))
