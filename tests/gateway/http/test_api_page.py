import base64
import hashlib
import re

import pytest

from orchestrator.formats.transliteration import to_cyrillic
from orchestrator.gateway.http.api_page import CSP, page
from orchestrator.gateway.http.labels import LABELS
from orchestrator.gateway.http.multipart import FIELDS
from orchestrator.gateway.http.openapi import document
from orchestrator.gateway.http.problem_details import KINDS, anchor_of
from orchestrator.gateway.options import Limits
from tests.gateway.http.html_reader import Reader

HOSTILE = '<script>alert("1")</script>'


@pytest.fixture(scope="module")
def html() -> str:
    return page(document(wants_keys=False, limits=Limits()))


@pytest.fixture(scope="module")
def reader(html: str) -> Reader:
    return Reader(html)


def test_an_api_without_operations_has_a_page() -> None:
    empty = document(wants_keys=False, limits=Limits()) | {"paths": {}}
    assert Reader(page(empty)).named("h1") == [{}]


def test_every_operation_is_on_the_page_and_every_link_leads_to_one_place(reader: Reader) -> None:
    names = reader.values("id")
    assert {"recognize", "read", "healthz", "readyz", "metrics", "openapi", "docs"} <= set(names)
    assert len(set(names)) == len(names)
    assert {link[1:] for link in reader.values("href") if link.startswith("#")} <= set(names)
    assert reader.unclosed == []


@pytest.mark.parametrize("reason", KINDS)
def test_the_type_of_a_problem_leads_to_its_meaning(reader: Reader, reason: str) -> None:
    assert anchor_of(reason) in reader.values("id")
    assert KINDS[reason].meaning in reader.text


def test_examples_and_calls_are_shown(reader: Reader) -> None:
    assert "curl -F picture=@car.jpg" in reader.text
    assert '"text": "A123BC77"' in reader.text
    assert f'"text_native": "{to_cyrillic("A123BC77")}"' in reader.text


def test_the_fields_of_a_form_are_shown_pictures_first(reader: Reader) -> None:
    places = [reader.text.index(f"field {name}:") for name in (*FIELDS, *LABELS)]
    assert places == sorted(places)


def test_nothing_is_run_or_loaded(reader: Reader, html: str) -> None:
    names = {name for name, _ in reader.tags}
    assert not names & {"script", "link", "img", "iframe", "form", "object", "embed"}
    assert not reader.attributes() & {"src", "style"}
    assert "url(" not in html
    assert "@import" not in html


def test_the_policy_allows_this_style_alone(html: str) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert CSP.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")


def test_screen_readers_find_their_way_in_light_and_dark(reader: Reader, html: str) -> None:
    assert reader.named("html") == [{"lang": "en"}]
    assert len(reader.named("h1")) == len(reader.named("main")) == 1
    assert {attributes["scope"] for attributes in reader.named("th")} == {"col", "row"}
    assert "@media (prefers-color-scheme: dark)" in html


def test_what_the_document_says_is_text_on_the_page() -> None:
    hostile = document(wants_keys=False, limits=Limits())
    hostile["info"] |= {"title": HOSTILE, "description": HOSTILE}
    hostile["paths"][f"/{HOSTILE}"] = {
        "get": {
            "operationId": HOSTILE,
            "summary": HOSTILE,
            "description": f"`{HOSTILE}` [a](https://b\"onclick='c')",
            "parameters": [
                {
                    "name": HOSTILE,
                    "in": HOSTILE,
                    "description": HOSTILE,
                    "example": HOSTILE,
                    "schema": {"type": HOSTILE},
                }
            ],
            "responses": {},
        }
    }
    html = page(hostile)
    assert "<script" not in html
    assert "onclick" not in Reader(html).attributes()


@pytest.mark.parametrize(
    ("wants_keys", "words"),
    [pytest.param(True, "need a key", id="wanted"), pytest.param(False, "may have", id="not")],
)
def test_the_page_says_whether_keys_are_needed(wants_keys: bool, words: str) -> None:
    assert f"Calls {words}" in Reader(page(document(wants_keys, Limits()))).text
