"""The page as the gateway serves it: public, guarded, and no way round what guards the calls."""

import zipfile
from pathlib import Path

import pytest
from poetry.core.masonry.api import build_wheel

from orchestrator.gateway.data_plane import DataPlane
from orchestrator.gateway.http.app import make_app
from orchestrator.gateway.http.page.html import CSP
from orchestrator.gateway.http.page.routes import FILES
from orchestrator.gateway.http.page.texts import LANGUAGES
from orchestrator.gateway.options import GatewayOptions
from tests.gateway.asgi import Reply, request
from tests.gateway.key_files import write_keys
from tests.gateway.loops import run
from tests.samples import PROJECT

PATHS = ["/", *(f"/page/{name}" for name in FILES)]


@pytest.fixture
def keyed(tmp_path: Path) -> GatewayOptions:
    """A gateway that answers nobody without a key."""
    keys = write_keys(tmp_path, gate="secret")
    return GatewayOptions(keys=keys, wants_keys=True, audit=tmp_path / "audit.jsonl")


def ask(
    options: GatewayOptions, path: str, method: str = "GET", query: str = "", **headers: str
) -> Reply:
    async def story() -> Reply:
        service = DataPlane(options)
        reply = await request(make_app(service), path, method, query, **headers)
        await service.close()
        return reply

    return run(story())


@pytest.mark.parametrize("path", PATHS)
def test_the_page_is_public_and_guarded(keyed: GatewayOptions, path: str) -> None:
    reply = ask(keyed, path)
    assert reply.status == 200
    assert reply.headers["content-security-policy"] == CSP
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert keyed.audit.read_text() == ""  # no call


def test_calls_still_want_a_key(keyed: GatewayOptions) -> None:
    reply = ask(keyed, "/v1/recognize", "POST", content_length="0")
    assert reply.status == 401
    assert '"reason":"key"' in keyed.audit.read_text().replace(" ", "")


@pytest.mark.parametrize("path", ["/page/", "/page/en.toml", "/page/routes.py", "/page/../app.py"])
def test_other_files_are_not_served(keyed: GatewayOptions, path: str) -> None:
    assert ask(keyed, path, authorization="Bearer secret").status == 404


def test_the_page_takes_nothing(keyed: GatewayOptions) -> None:
    assert ask(keyed, "/", "POST", authorization="Bearer secret").status == 405


@pytest.mark.parametrize(
    ("accepted", "query", "language"),
    [
        pytest.param("ru-RU,ru;q=0.9", "", "ru", id="accepted"),
        pytest.param("ru", "lang=en", "en", id="asked"),
        pytest.param("de", "lang=%3Cb%3E", "en", id="unknown"),
    ],
)
def test_a_language_is_chosen_and_told(
    keyed: GatewayOptions, accepted: str, query: str, language: str
) -> None:
    reply = ask(keyed, "/", query=query, accept_language=accepted)
    assert f'<html lang="{language}">'.encode() in reply.body
    assert reply.headers["content-language"] == language
    assert reply.headers["vary"] == "accept-language"


def test_files_have_their_types(keyed: GatewayOptions) -> None:
    kinds = {name: ask(keyed, f"/page/{name}").headers["content-type"] for name in FILES}
    assert {name: kind.partition(";")[0] for name, kind in kinds.items()} == FILES


def test_what_is_shipped_stays_small(keyed: GatewayOptions) -> None:
    assert sum(len(ask(keyed, path).body) for path in PATHS) < 150_000


def test_a_wheel_holds_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        files = wheel.namelist()
    shipped = {*FILES, "page.html", *(f"{language}.toml" for language in LANGUAGES)}
    assert {f"orchestrator/gateway/http/page/{name}" for name in shipped} <= {*files}
