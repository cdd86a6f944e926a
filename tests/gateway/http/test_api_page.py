import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from orchestrator.gateway.http.api_page import CSP, page
from orchestrator.gateway.http.openapi import document
from orchestrator.gateway.http.problem_details import KINDS, anchor_of
from orchestrator.gateway.options import Limits

VOID = {"meta"}
HOSTILE = '<script>alert("1")</script>'


class Reader(HTMLParser):
    """Takes what a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.unclosed: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.tags if name in attributes]

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


@pytest.fixture(scope="module")
def html() -> str:
    return page(document(wants_keys=False, limits=Limits()))


@pytest.fixture(scope="module")
def reader(html: str) -> Reader:
    return read(html)


def test_an_api_without_operations_has_a_page() -> None:
    empty = document(wants_keys=False, limits=Limits()) | {"paths": {}}
    assert read(page(empty)).named("h1") == [{}]


def test_every_element_is_closed(reader: Reader) -> None:
    assert reader.unclosed == []


def test_every_operation_is_on_the_page(reader: Reader) -> None:
    operations = {"recognize", "read", "healthz", "readyz", "metrics", "openapi", "docs"}
    assert operations <= set(reader.values("id"))


def test_names_on_the_page_are_given_once(reader: Reader) -> None:
    names = reader.values("id")
    assert len(set(names)) == len(names)


def test_every_link_within_the_page_leads_somewhere(reader: Reader) -> None:
    within = {link[1:] for link in reader.values("href") if link.startswith("#")}
    assert within <= set(reader.values("id"))


@pytest.mark.parametrize("reason", KINDS)
def test_the_type_of_a_problem_leads_to_its_meaning(reader: Reader, reason: str) -> None:
    assert anchor_of(reason) in reader.values("id")
    assert KINDS[reason].meaning in reader.text


def test_examples_and_calls_are_shown(reader: Reader) -> None:
    assert "curl -F picture=@car.jpg" in reader.text
    assert '"text": "A123BC77"' in reader.text


def test_nothing_is_run_or_loaded(reader: Reader) -> None:
    names = {name for name, _ in reader.tags}
    assert not names & {"script", "link", "img", "iframe", "form", "object", "embed"}
    assert "src" not in {name for _, attributes in reader.tags for name in attributes}
    assert "style" not in {name for _, attributes in reader.tags for name in attributes}


def test_the_style_loads_nothing(html: str) -> None:
    assert "url(" not in html
    assert "@import" not in html


def test_the_policy_allows_this_style_alone(html: str) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert CSP.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")


def test_a_page_can_be_read_by_machines_for_people(reader: Reader) -> None:
    assert reader.named("html") == [{"lang": "en"}]
    assert len(reader.named("h1")) == len(reader.named("main")) == 1
    assert {attributes["scope"] for attributes in reader.named("th")} == {"col", "row"}


def test_light_and_dark_are_both_there(html: str) -> None:
    assert "color-scheme: light dark" in html
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
    assert not {"onclick"} & {name for _, attributes in read(html).tags for name in attributes}


@pytest.mark.parametrize(
    ("wants_keys", "words"),
    [pytest.param(True, "need a key", id="wanted"), pytest.param(False, "may have", id="not")],
)
def test_the_page_says_whether_keys_are_needed(wants_keys: bool, words: str) -> None:
    assert f"Calls {words}" in read(page(document(wants_keys, Limits()))).text
