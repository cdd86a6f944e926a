"""Clients of other services that call the gateway instead: Plate Recognizer, CodeProject.AI."""

import json
from collections.abc import Iterator

import pytest
import requests

from orchestrator.serving.gateway.options import Limits
from tests.integration.conftest import InFront
from tests.integration.serving import run_gateway
from tests.samples import STREET, TEXTS
from tests.serving.gateway.key_files import write_keys

KEY = "kept-secret-for-a-test"
PLATES = sorted(text.lower() for text in TEXTS)


@pytest.fixture(scope="module")
def keyed_gateway(gateway: InFront, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InFront]:
    """A gateway that requires keys, and accepts bodies of up to 1 MiB."""
    folder = tmp_path_factory.mktemp("keys")
    with run_gateway(
        gateway.options,
        wants_keys=True,
        keys=write_keys(folder, usual=KEY),
        audit=folder / "audit.jsonl",
        limits=Limits(calls=6, body_mb=1),
    ) as options:
        yield InFront(options)


def post(url: str, file: bytes, **headers: str) -> requests.Response:
    return requests.post(
        f"{url}/v1/plate-reader/", files={"upload": file}, headers=headers, timeout=60
    )


def test_a_token_is_ignored_where_there_are_no_keys(gateway: InFront) -> None:
    with run_gateway(gateway.options, keys=None) as options:
        url = InFront(options).url
        response = post(url, STREET.read_bytes(), Authorization="Token of-their-service")
    assert response.status_code == 201, response.text


@pytest.mark.parametrize("path", ["/v1/plate-reader/", "/v1/plate-reader"])
def test_a_client_changes_the_address_alone(gateway: InFront, path: str) -> None:
    with STREET.open("rb") as file:
        response = requests.post(
            gateway.url + path,
            data={"regions": ["ru", "kz"], "config": json.dumps({}), "camera_id": "gate-7"},
            files={"upload": file},
            timeout=60,
        )
    answer = response.json()
    assert response.status_code == 201
    assert sorted(plate["plate"] for plate in answer["results"]) == PLATES
    assert {plate["region"]["code"] for plate in answer["results"]} == {"ru"}
    assert (answer["filename"], answer["camera_id"]) == (STREET.name, "gate-7")
    assert answer["processing_time"] > 1


def test_a_client_of_codeproject_changes_the_address_alone(gateway: InFront) -> None:
    url = f"{gateway.url}/v1/vision/alpr"
    answer = requests.post(url, files={"upload": STREET.read_bytes()}, timeout=60).json()
    assert sorted(plate["plate"] for plate in answer["predictions"]) == sorted(TEXTS)
    refusal = requests.post(url, files={"upload": b"no picture"}, timeout=60)
    assert (refusal.status_code, refusal.json()["success"]) == (400, False)
    assert refusal.json()["error"].startswith("encoded_image: wanted a JPEG, PNG")


def test_their_token_is_a_key_of_ours(keyed_gateway: InFront) -> None:
    file = STREET.read_bytes()
    assert post(keyed_gateway.url, file, Authorization=f"Token {KEY}").status_code == 201
    refusal = post(keyed_gateway.url, file, Authorization="Token another")
    assert refusal.status_code == 403
    assert refusal.json() == {"detail": "the key is not known", "status_code": 403}
    assert post(keyed_gateway.url, file).status_code == 403
    lines = [json.loads(line) for line in keyed_gateway.options.audit.read_text().splitlines()]
    assert {(line["what"], line["client"], line["reason"]) for line in lines} == {
        ("plate-reader", "key:usual", "ok"),
        ("plate-reader", "127.0.0.1", "key"),
    }
