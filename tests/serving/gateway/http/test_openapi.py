import json
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.errors import ParameterError
from orchestrator.serving.gateway.http import schemas
from orchestrator.serving.gateway.http.api_docs.api_examples import LABELS, PARAMETERS, PROBLEMS
from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.http.labels import Labels, labels_of
from orchestrator.serving.gateway.http.multipart import FIELDS
from orchestrator.serving.gateway.http.snapshot_api import snapshot_schemas
from orchestrator.serving.gateway.http.vision_api import vision_schemas
from orchestrator.serving.gateway.options import Limits
from orchestrator.settings import REQUEST_PARAMETERS, Settings

DOCUMENT = document(wants_keys=False, limits=Limits(body_mb=7, pictures=5, crop_pixels=12345))
OPERATIONS = [
    pytest.param(operation, id=f"{method} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
POSTS = [pytest.param(path, id=path) for path in ("/v1/recognize", "/v1/read")]
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
PROBLEM_EXAMPLES = [
    pytest.param(name.removeprefix("Problem"), example["value"], id=f"{name} {key}")
    for name, response in DOCUMENT["components"]["responses"].items()
    for key, example in response["content"]["application/problem+json"]["examples"].items()
]


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (value for key, value in part.items() if key == "$ref")
        for value in part.values():
            yield from references(value)
    if isinstance(part, list):
        for value in part:
            yield from references(value)


def found(reference: str) -> Any:
    part: Any = DOCUMENT
    for key in reference.removeprefix("#/").split("/"):
        part = part[key]
    return part


def test_every_path_of_the_contract_is_described_under_a_name_of_its_own() -> None:
    assert set(DOCUMENT["paths"]) == {
        "/v1/recognize",
        "/v1/read",
        "/v1/plate-reader/",
        "/v1/vision/alpr",
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/docs",
    }
    assert len({operation.values[0]["operationId"] for operation in OPERATIONS}) == 9


def test_every_reference_leads_somewhere() -> None:
    assert all(map(found, references(DOCUMENT)))


@pytest.mark.parametrize(("model", "example"), ANSWERS)
def test_an_example_is_an_answer(model: type[schemas.Model], example: Any) -> None:
    assert json.loads(model.model_validate_json(json.dumps(example)).to_json()) == example


@pytest.mark.parametrize(("status", "example"), PROBLEM_EXAMPLES)
def test_an_example_is_a_problem(status: str, example: Any) -> None:
    assert schemas.Problem.model_validate(example).status == int(status)
    assert example["type"].startswith("/docs#problem-")


@pytest.mark.parametrize("path", POSTS)
def test_every_refusal_is_an_answer_of_a_call(path: str) -> None:
    assert list(DOCUMENT["paths"][path]["post"]["responses"]) == ["200", *PROBLEMS]


def test_the_snapshot_api_answers_errors_in_its_own_form() -> None:
    responses = DOCUMENT["paths"]["/v1/plate-reader/"]["post"]["responses"]
    assert "401" not in responses
    (example,) = responses["403"]["content"]["application/json"]["examples"].values()
    assert example["value"] == {"detail": "wanted a valid key, got none", "status_code": 403}


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_refusal_that_may_be_tried_later_says_when(status: str) -> None:
    headers = DOCUMENT["components"]["responses"][f"Problem{status}"]["headers"]
    assert list(headers) == ["Retry-After"]


def test_every_request_parameter_is_described() -> None:
    assert tuple(PARAMETERS) == REQUEST_PARAMETERS


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_example_of_a_parameter_is_accepted(name: str) -> None:
    assert Settings(max_plates=1000).updated({name: PARAMETERS[name][2]}) != Settings(
        max_plates=1000
    )


@pytest.mark.parametrize("path", POSTS)
def test_the_example_of_a_parameter_has_its_type(path: str) -> None:
    types = {"number": float, "integer": int, "string": str}
    parameters = [one for one in DOCUMENT["paths"][path]["post"]["parameters"] if "name" in one]
    assert parameters
    assert [
        parameter["name"]
        for parameter in parameters
        if type(parameter["example"]) is not types[parameter["schema"]["type"]]
    ] == []


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


@pytest.mark.parametrize("path", POSTS)
def test_a_form_has_pictures_under_one_name_and_labels(path: str) -> None:
    form = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["multipart/form-data"]
    assert [list(one["properties"]) for one in form["schema"]["oneOf"]] == [
        [name, *LABELS] for name in FIELDS
    ]
    assert list(form["encoding"]) == list(FIELDS)


def test_every_label_is_described_by_an_example_that_is_accepted() -> None:
    examples = {name: example for name, (_, _, example) in LABELS.items()}
    assert labels_of(examples, {}) == Labels("gate-7", "2026-05-17T09:30:00+03:00")


@pytest.mark.parametrize(
    ("wants_keys", "security"),
    [
        pytest.param(True, [{"bearer": []}, {"key": []}], id="wanted"),
        pytest.param(False, [{}, {"bearer": []}, {"key": []}], id="not wanted"),
    ],
)
def test_keys_are_needed_where_they_are_wanted(wants_keys: bool, security: list) -> None:
    assert document(wants_keys, Limits())["security"] == security


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"])
def test_how_the_service_is_needs_no_key(path: str) -> None:
    assert DOCUMENT["paths"][path]["get"]["security"] == []
