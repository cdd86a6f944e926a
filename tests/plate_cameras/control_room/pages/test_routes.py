"""The served pages: public ones, guarded ones, and the reader's language."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from orchestrator.serving.gateway.http.page.html import CSP
from orchestrator.serving.gateway.options import GatewayOptions
from plate_cameras.control_room.pages.routes import find_files, page_routes

PATHS = ["/live", "/passes", "/passes/any", "/lists", "/cameras", "/gates", "/people", "/login"]
PATHS += [f"/control/{name}" for name in find_files()]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=page_routes(GatewayOptions())))


def test_pages_and_files_are_guarded_and_small(client: TestClient) -> None:
    answers = [client.get(path) for path in PATHS]
    names = ("content-security-policy", "cache-control")
    guards = {(answer.status_code, *(answer.headers[name] for name in names)) for answer in answers}
    assert guards == {(200, CSP, "no-cache")}
    assert client.get("/page/drawing.js").status_code == 200  # of the first page
    assert sum(len(answer.content) for answer in answers[8:]) < 180_000


@pytest.mark.parametrize(
    ("path", "header", "cookie", "language"),
    [
        pytest.param("/live", "ru", "", "ru", id="accepted"),
        pytest.param("/live", "ru", "plates_language=en", "en", id="kept"),
        pytest.param("/live?lang=en", "ru", "plates_language=ru", "en", id="asked"),
        pytest.param("/live?lang=xx", "ru", "plates_language=xx", "ru", id="unknown"),
    ],
)
def test_a_language_is_chosen(
    client: TestClient, path: str, header: str, cookie: str, language: str
) -> None:
    client.cookies.clear()
    answer = client.get(path, headers={"accept-language": header, "cookie": cookie})
    assert answer.headers["content-language"] == language


def test_a_chosen_language_is_kept(client: TestClient) -> None:
    answer = client.get("/lists?lang=ru")
    assert "plates_language=ru" in answer.headers["set-cookie"]
    assert "set-cookie" not in client.get("/lists").headers
