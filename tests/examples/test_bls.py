"""A user's own model that calls yolo, stn and lprnet, and the messages about its errors."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
import tritonclient.http
from tritonclient.utils import InferenceServerException

from examples.bls import REPOSITORY
from examples.bls.__main__ import TEXTS, ask, main
from orchestrator.serving.supervisor.options import ServerOptions
from tests.examples.conftest import Faulty
from workshop.rendering.scenery import scene


@pytest.fixture
def url(server: ServerOptions) -> str:
    return server.http_url


@pytest.mark.server
def test_plates_are_found_and_read(url: str) -> None:
    street = scene(TEXTS)
    boxes, texts = ask(url, street.picture)
    assert sorted(texts) == sorted(TEXTS)
    order, expected_xyxy = boxes[:, 0].argsort(), street.xyxy[street.xyxy[:, 0].argsort()]
    np.testing.assert_allclose(boxes[order], expected_xyxy, atol=12)


@pytest.mark.server
def test_a_picture_without_plates_has_empty_outputs(url: str) -> None:
    boxes, texts = ask(url, np.full((300, 400, 3), 90, np.uint8))
    assert (boxes.shape, texts) == ((0, 4), [])


@pytest.mark.server
def test_the_example_prints_the_plates(
    server: ServerOptions, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the other tests, which has the same model, stands in for its own."""
    all_options = []
    start = lambda options: all_options.append(options) or nullcontext(server)  # noqa: E731
    monkeypatch.setattr("examples.bls.__main__.own_server", start)
    main([])
    assert [options.beside for options in all_options] == [(REPOSITORY,)]
    output = capsys.readouterr().out
    assert output.startswith("rendered: 2 plates\n")
    assert all(text in output for text in TEXTS)


@pytest.mark.server
def test_an_error_in_the_user_s_model_shows_his_file_and_line(
    url: str, faulty: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    errors = {model: refusal_of(url, model) for model in faulty.lines}
    assert all(error.status() == "500" for error in errors.values())
    assert errors["hide"].message() == "KeyError: 'no such key'"
    assert "RecursionError: maximum recursion depth exceeded" in errors["bls_deep"].message()
    records = [json.loads(line) for line in caplog.messages if '"traceback"' in line]
    for name, error in errors.items():
        (failure,) = [record for record in records if faulty.lines[name] in record["traceback"]]
        assert failure["reason"] == "internal"
        assert failure["message"][:100] == error.message()[:100]
        assert failure["traceback"].rstrip().endswith(error.message()[-20:])


def refusal_of(url: str, model: str) -> InferenceServerException:
    picture_input = tritonclient.http.InferInput("picture", [4, 4, 3], "UINT8")
    picture_input.set_data_from_numpy(np.zeros((4, 4, 3), np.uint8))
    with tritonclient.http.InferenceServerClient(url) as client:
        with pytest.raises(InferenceServerException) as error:
            client.infer(model, [picture_input])
        return error.value
