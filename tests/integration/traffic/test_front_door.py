"""`plates serve` can be reached only through the gateway; Triton requires a key for every call."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from orchestrator.host.loopback import open_url
from tests.integration.doubling import write_doubling
from tests.integration.serving import Serving, command_line, serve

MODULES = {"http": tritonclient.http, "grpc": tritonclient.grpc}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service with two additional models; the operator has allowed one of them."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("double", "hidden"):
        write_doubling(folder, name, "TYPE_INT32")
    with serve("--model-repository", folder, "--model=double") as running:
        yield running


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest):
    return MODULES[request.param]


@pytest.fixture
def client(module, serving: Serving):
    url = serving.url if module is tritonclient.http else serving.grpc
    with module.InferenceServerClient(url) as client:
        yield client


def numbers(module, *values: int, name: str = "x") -> object:
    tensor = module.InferInput(name, [len(values)], "INT32")
    tensor.set_data_from_numpy(np.array(values, np.int32))
    return tensor


def triton_of(serving: Serving) -> dict[str, str]:
    """Return Triton's addresses by protocol."""
    (pid,) = serving.tritons()
    line = command_line(pid).decode()
    return {
        protocol: f"127.0.0.1:{port}"
        for protocol, port in re.findall(r"--(http|grpc)-port=(\d+)", line)
    }


def test_a_model_that_the_operator_named_is_served(module, client) -> None:
    answer = client.infer("double", [numbers(module, 1, -2)])
    assert answer.as_numpy("y").tolist() == [2, -4]
    assert client.is_model_ready("double")
    assert client.is_server_ready()


def test_its_numbers_may_come_as_json(serving: Serving) -> None:
    tensor = {"name": "x", "datatype": "INT32", "shape": [2], "data": [3, -4]}
    request = urllib.request.Request(
        f"http://{serving.url}/v2/models/double/infer", json.dumps({"inputs": [tensor]}).encode()
    )
    with open_url(request, timeout_s=20) as answer:
        assert json.load(answer)["outputs"][0]["data"] == [6, -8]


def test_another_model_of_the_repository_is_not_served(module, client) -> None:
    with pytest.raises(InferenceServerException, match="model: wanted one of double, got 'hidden'"):
        client.infer("hidden", [numbers(module, 1)])


def test_a_tensor_that_the_model_does_not_know_is_refused(module, client) -> None:
    with pytest.raises(InferenceServerException, match="inputs: wanted some of x, got 'z'"):
        client.infer("double", [numbers(module, 1, name="z")])


def status_of(request: urllib.request.Request | str) -> int:
    try:
        with open_url(request, timeout_s=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("path", ["/", "/v1/recognize", "/openapi.json"])
def test_there_is_no_page_without_plates(serving: Serving, path: str) -> None:
    assert status_of(f"http://{serving.url}{path}") == 404


@pytest.mark.parametrize("path", ["/v2", "/v2/models/double", "/v2/models/double/config"])
def test_triton_tells_nobody_of_its_models(serving: Serving, path: str) -> None:
    assert status_of(f"http://{triton_of(serving)['http']}{path}") in {403, 404}


def test_triton_answers_no_call_without_the_key(module, serving: Serving) -> None:
    protocol = "http" if module is tritonclient.http else "grpc"
    with (
        module.InferenceServerClient(triton_of(serving)[protocol]) as client,
        pytest.raises(InferenceServerException, match="estricted"),
    ):
        client.infer("double", [numbers(module, 1)])


def test_metrics_have_a_port_of_their_own(serving: Serving) -> None:
    (url,) = re.findall(r"metrics  (\S+)", serving.output)
    with open_url(url, timeout_s=20) as answer:
        assert b"plates_gateway_calls_total" in answer.read()
