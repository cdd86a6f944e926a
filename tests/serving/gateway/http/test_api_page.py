"""The page that describes the API."""

import pytest

from orchestrator.formats.transliteration import to_cyrillic
from orchestrator.serving.gateway.http.api_docs.api_examples import PARAMETERS
from orchestrator.serving.gateway.http.api_docs.api_page import render_page
from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.http.api_docs.page_languages import render_pages
from orchestrator.serving.gateway.http.labels import LABELS
from orchestrator.serving.gateway.http.page.routes import FILES
from orchestrator.serving.gateway.http.page.texts import LANGUAGES, read_texts
from orchestrator.serving.gateway.http.problem_details import KINDS, anchor_of
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from tests.serving.gateway.http.html_reader import HtmlReader

HOSTILE = '<script>alert("1")</script>'


@pytest.fixture(scope="module")
def reader() -> HtmlReader:
    return HtmlReader(render_page(document(wants_keys=False, limits=Limits())))


@pytest.mark.parametrize(
    ("part", "operations", "fields"),
    [
        ("", {"recognize", "read"}, "schema-Recognition"),
        ("pictures", {"recognize", "read"}, "schema-Candidate"),
        ("unknown", {"recognize", "read"}, "schema-Candidate"),
        ("service", {"healthz", "readyz", "metrics"}, "schema-Ready"),
    ],
)
def test_a_part_has_its_operations_and_all_that_its_links_lead_to(
    part: str, operations: set[str], fields: str
) -> None:
    reader = HtmlReader(render_page(document(wants_keys=False, limits=Limits()), part))
    names = reader.values("id")
    assert {*operations, fields, "problems"} <= set(names)
    assert ("recognize" in names, "schema-Recognition" in names) == ("read" in operations,) * 2
    assert len(set(names)) == len(names)
    assert {link[1:] for link in reader.values("href") if link.startswith("#")} <= set(names)
    other_links = {link for link in reader.values("href") if link.startswith("docs?part=")}
    assert ("docs?part=service#metrics" in other_links) is (part != "service")
    assert reader.unclosed == []


def test_examples_calls_and_the_meaning_of_each_problem_are_shown(reader: HtmlReader) -> None:
    assert "curl -F picture=@car.jpg" in reader.text
    assert '"text": "A123BC77"' in reader.text
    assert f'"text_native": "{to_cyrillic("A123BC77")}"' in reader.text
    assert {anchor_of(reason) for reason in KINDS} <= {*reader.values("id")}
    assert [kind.meaning for kind in KINDS.values() if kind.meaning not in reader.text] == []


def test_only_files_of_the_page_are_run_or_loaded(reader: HtmlReader) -> None:
    files = {attributes["src"] for attributes in reader.named("script") + reader.named("img")}
    files |= {attributes["href"] for attributes in reader.named("link")}
    assert files == {"page/docs.js", "page/page.css", "page/docs.css", "page/icon.svg"}
    assert files <= {f"page/{name}" for name in FILES}
    assert not {name for name, _ in reader.tags} & {"iframe", "object", "embed", "style"}
    assert not reader.attributes() & {"style", "onclick"}


def test_every_call_with_pictures_has_a_form(reader: HtmlReader) -> None:
    assert [(form["id"], form["action"], form["data-file"]) for form in reader.named("form")] == [
        ("try-recognize", "v1/recognize", "picture"),
        ("try-read", "v1/read", "picture"),
        ("try-plateReader", "v1/plate-reader/", "upload"),
        ("try-visionAlpr", "v1/vision/alpr", "upload"),
    ]


def test_a_form_has_every_parameter_and_takes_what_the_schema_takes(reader: HtmlReader) -> None:
    inputs = [attributes for attributes in reader.named("input") if "data-name" in attributes]
    names = [
        attributes["data-name"]
        for attributes in inputs
        if str(attributes["id"]).startswith("recognize-")
    ]
    assert names == [*PARAMETERS, *LABELS]
    (side,) = [
        attributes for attributes in inputs if attributes["id"] == "recognize-detector_side_px"
    ]
    limits = [side[name] for name in ("type", "min", "max", "step", "placeholder")]
    assert limits == ["number", "32", "4096", "32", "e.g. 1280"]


def test_what_the_document_says_is_text_on_the_page() -> None:
    names = ("name", "in", "description", "example")
    parameter = dict.fromkeys(names, HOSTILE) | {"schema": {"type": HOSTILE}}
    operation = {
        "operationId": HOSTILE,
        "summary": HOSTILE,
        "description": f"`{HOSTILE}` [a](https://b\"onclick='c')",
        "parameters": [parameter],
        "responses": {},
    }
    hostile = document(wants_keys=False, limits=Limits())
    hostile["info"] |= {"title": HOSTILE, "description": HOSTILE}
    hostile["paths"][f"/{HOSTILE}"] = {"get": operation}
    reader = HtmlReader(render_page(hostile))
    assert len(reader.named("script")) == 1
    assert "onclick" not in reader.attributes()
    assert HtmlReader(render_page(hostile | {"paths": {}})).named("h1") == [{}]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_there_in_each_language(language: str) -> None:
    html = render_pages(document(wants_keys=False, limits=Limits()), GatewayOptions())[language]
    titles = [kind.title for kind in KINDS.values()]
    docs = read_texts()[language].docs
    text = HtmlReader(html).text
    assert f'<html lang="{language}">' in html
    assert [title for title in titles if docs.get(title, title) not in text] == []
