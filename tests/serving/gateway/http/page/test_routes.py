"""The page of the gateway: public and guarded; it does not bypass the checks of calls."""

from pathlib import Path

import pytest

from orchestrator.serving.gateway.http.page.html import CSP
from orchestrator.serving.gateway.http.page.routes import FILES
from orchestrator.serving.gateway.options import GatewayOptions
from tests.samples import PROJECT
from tests.serving.gateway.http.service import client_of
from tests.serving.gateway.key_files import write_keys

KEY = {"authorization": "Bearer secret"}
PATHS = ["/", *(f"/page/{name}" for name in FILES)]


@pytest.fixture
def keyed(tmp_path: Path) -> GatewayOptions:
    """A gateway that requires a key for every request."""
    keys = write_keys(tmp_path, gate="secret")
    return GatewayOptions(keys=keys, wants_keys=True, audit=tmp_path / "audit.jsonl")


@pytest.mark.parametrize("path", PATHS)
def test_the_page_is_public_and_guarded(keyed: GatewayOptions, path: str) -> None:
    reply = client_of(keyed).get(path)
    assert reply.status_code == 200
    assert reply.headers["content-security-policy"] == CSP
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert keyed.audit.read_text() == ""  # no call


def test_calls_still_want_a_key_and_the_page_takes_nothing(keyed: GatewayOptions) -> None:
    assert client_of(keyed).post("/", headers=KEY).status_code == 405
    reply = client_of(keyed).post("/v1/recognize")
    assert reply.status_code == 401
    assert '"reason":"key"' in keyed.audit.read_text().replace(" ", "")


@pytest.mark.parametrize(
    "path", ["/page/", "/page/en.toml", "/page/routes.py", "/page/%2e%2e/app.py"]
)
def test_other_files_are_not_served(keyed: GatewayOptions, path: str) -> None:
    assert client_of(keyed).get(path, headers=KEY).status_code == 404


@pytest.mark.parametrize(
    ("accepted", "path", "language"),
    [("ru-RU,ru;q=0.9", "/", "ru"), ("ru", "/?lang=en", "en"), ("de", "/?lang=%3Cb%3E", "en")],
    ids=["accepted", "asked", "unknown"],
)
def test_a_language_is_chosen_and_told(
    keyed: GatewayOptions, accepted: str, path: str, language: str
) -> None:
    reply = client_of(keyed).get(path, headers={"accept-language": accepted})
    assert f'<html lang="{language}">'.encode() in reply.content
    assert reply.headers["content-language"] == language
    assert "accept-language" in reply.headers["vary"]


def test_every_file_of_the_page_is_served_with_its_type_and_stays_small(
    keyed: GatewayOptions,
) -> None:
    replies = {name: client_of(keyed).get(f"/page/{name}") for name in FILES}
    kinds = {name: reply.headers["content-type"] for name, reply in replies.items()}
    assert {name: kind.partition(";")[0] for name, kind in kinds.items()} == FILES
    assert sum(len(reply.content) for reply in replies.values()) < 230_000
    folder = PROJECT / "orchestrator" / "serving" / "gateway" / "http" / "page"
    suffixes = {".css", ".js", ".jpg", ".svg"}
    assert {*FILES} == {file.name for file in folder.iterdir() if file.suffix in suffixes}
