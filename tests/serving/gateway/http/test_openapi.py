"""The description of the API agrees with what it describes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.http import schemas
from orchestrator.serving.gateway.http.api_docs.api_examples import LABELS, PARAMETERS, PROBLEMS
from orchestrator.serving.gateway.http.api_docs.api_page import render_page
from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.http.labels import Labels, labels_of
from orchestrator.serving.gateway.http.multipart import FIELDS
from orchestrator.serving.gateway.http.snapshot_api import snapshot_schemas
from orchestrator.serving.gateway.http.vision_api import vision_schemas
from orchestrator.serving.gateway.options import Limits
from orchestrator.settings import REQUEST_PARAMETERS, Settings
from tests.serving.gateway.http.html_reader import HtmlReader

DOCUMENT = document(wants_keys=False, limits=Limits(body_mb=7, pictures=5, crop_pixels=12345))
OPERATIONS = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
MODELS = vars(schemas) | vars(snapshot_schemas) | vars(vision_schemas)
ANSWERS = [
    pytest.param(MODELS[content["schema"]["$ref"].rpartition("/")[2]], example["value"],
                 id=f"{path} {name}")
    for path, methods in DOCUMENT["paths"].items()
    for operation in methods.values()
    for status, answer in operation["responses"].items()
    if status.startswith("2")
    for content in answer["content"].values()
    for name, example in content.get("examples", {}).items()
]  # fmt: skip


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (value for key, value in part.items() if key == "$ref")
        for value in part.values():
            yield from references(value)
    if isinstance(part, list):
        for value in part:
            yield from references(value)


def resolve(reference: str) -> Any:
    part: Any = DOCUMENT
    for key in reference.removeprefix("#/").split("/"):
        part = part[key]
    return part


CALLS = ["/v1/recognize", "/v1/read", "/v1/plate-reader/", "/v1/vision/alpr"]
OPEN_PATHS = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"]


def test_every_path_of_the_contract_is_described_under_a_name_of_its_own() -> None:
    assert {*DOCUMENT["paths"]} == {*CALLS, *OPEN_PATHS}
    assert len({operation["operationId"] for operation in OPERATIONS}) == 9
    assert all(map(resolve, references(DOCUMENT)))
    assert [DOCUMENT["paths"][path]["get"]["security"] for path in OPEN_PATHS] == [[]] * 5


@pytest.mark.parametrize(("model", "example"), ANSWERS)
def test_an_example_is_an_answer(model: type[schemas.Model], example: Any) -> None:
    assert json.loads(model.model_validate_json(json.dumps(example)).to_json()) == example


def test_problems_are_described_by_examples_and_say_when_to_try_again() -> None:
    for name, response in DOCUMENT["components"]["responses"].items():
        for example in response["content"]["application/problem+json"]["examples"].values():
            problem = schemas.Problem.model_validate(example["value"])
            assert problem.status == int(name.removeprefix("Problem"))
            assert problem.type.startswith("/docs#problem-")
    for status in ("429", "503"):
        headers = DOCUMENT["components"]["responses"][f"Problem{status}"]["headers"]
        assert list(headers) == ["Retry-After"]
    responses = DOCUMENT["paths"]["/v1/plate-reader/"]["post"]["responses"]  # their own form
    assert "401" not in responses
    (example,) = responses["403"]["content"]["application/json"]["examples"].values()
    assert example["value"] == {"detail": "wanted a valid key, got none", "status_code": 403}


def test_examples_of_parameters_and_labels_are_accepted() -> None:
    assert tuple(PARAMETERS) == REQUEST_PARAMETERS
    usual = Settings(max_plates=1000)
    updated = {name: usual.updated({name: example}) for name, (*_, example) in PARAMETERS.items()}
    assert [name for name, settings in updated.items() if settings == usual] == []
    examples = {name: example for name, (_, _, example) in LABELS.items()}
    assert labels_of(examples, {}) == Labels("gate-7", "2026-05-17T09:30:00+03:00")


@pytest.mark.parametrize("path", CALLS[:2])
def test_a_call_has_parameters_with_examples_a_form_and_every_refusal(path: str) -> None:
    post, types = DOCUMENT["paths"][path]["post"], {"number": float, "integer": int, "string": str}
    examples = [
        (type(schema["example"]), types[schema["schema"]["type"]])
        for schema in post["parameters"]
        if "name" in schema
    ]
    assert examples
    assert [kinds for kinds in examples if kinds[0] is not kinds[1]] == []
    form = post["requestBody"]["content"]["multipart/form-data"]
    assert [list(schema["properties"]) for schema in form["schema"]["oneOf"]] == [
        [name, *LABELS] for name in FIELDS
    ]
    assert list(form["encoding"]) == list(FIELDS)
    assert list(post["responses"]) == ["200", *PROBLEMS]


@pytest.mark.parametrize("edge", ["minimum", "maximum"])
@pytest.mark.parametrize(
    "name", ["detector_side_px", "detection_threshold", "text_threshold", "max_plates"]
)
def test_the_range_of_a_parameter_is_that_of_the_settings(name: str, edge: str) -> None:
    schema, widest = PARAMETERS[name][1], Settings(max_plates=1000, max_detector_side_px=4096)
    last, step = schema[edge], schema.get("multipleOf", 1)
    assert getattr(widest.updated({name: str(last)}), name) == last
    beyond = last + {"minimum": -step, "maximum": step}[edge]
    with pytest.raises(ParameterError, match=f"{name}: wanted"):
        widest.updated({name: str(beyond)})


@pytest.mark.parametrize(
    ("wants_keys", "security", "words"),
    [(True, [], "Calls need a key"), (False, [{}], "Calls may have")],
)
def test_keys_are_needed_where_they_are_wanted(
    security: list, words: str, *, wants_keys: bool
) -> None:
    api = document(wants_keys, Limits())
    assert api["security"] == [*security, {"bearer": []}, {"key": []}]
    assert words in HtmlReader(render_page(api)).text
