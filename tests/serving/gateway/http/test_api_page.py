import pytest

from orchestrator.formats.transliteration import to_cyrillic
from orchestrator.serving.gateway.http.api_docs.api_examples import PARAMETERS
from orchestrator.serving.gateway.http.api_docs.api_page import page
from orchestrator.serving.gateway.http.api_docs.openapi import document
from orchestrator.serving.gateway.http.api_docs.page_languages import pages
from orchestrator.serving.gateway.http.labels import LABELS
from orchestrator.serving.gateway.http.page.routes import FILES
from orchestrator.serving.gateway.http.page.texts import LANGUAGES, read_texts
from orchestrator.serving.gateway.http.problem_details import KINDS, anchor_of
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from tests.serving.gateway.http.html_reader import Reader

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


@pytest.mark.parametrize(
    ("part", "operations", "fields"),
    [
        pytest.param("", {"recognize", "read"}, "schema-Recognition", id="first"),
        pytest.param("pictures", {"recognize", "read"}, "schema-Candidate", id="pictures"),
        pytest.param("unknown", {"recognize", "read"}, "schema-Candidate", id="unknown"),
        pytest.param("service", {"healthz", "readyz", "metrics"}, "schema-Ready", id="service"),
    ],
)
def test_a_part_has_its_operations_and_all_that_its_links_lead_to(
    part: str, operations: set[str], fields: str
) -> None:
    reader = Reader(page(document(wants_keys=False, limits=Limits()), part))
    names = reader.values("id")
    assert {*operations, fields, "problems"} <= set(names)
    assert ("recognize" in names, "schema-Recognition" in names) == ("read" in operations,) * 2
    assert len(set(names)) == len(names)
    assert {link[1:] for link in reader.values("href") if link.startswith("#")} <= set(names)
    others = {link for link in reader.values("href") if link.startswith("docs?part=")}
    assert ("docs?part=service#metrics" in others) is (part != "service")
    assert reader.unclosed == []


@pytest.mark.parametrize("reason", KINDS)
def test_the_type_of_a_problem_leads_to_its_meaning(reader: Reader, reason: str) -> None:
    assert anchor_of(reason) in reader.values("id")
    assert KINDS[reason].meaning in reader.text


def test_examples_and_calls_are_shown(reader: Reader) -> None:
    assert "curl -F picture=@car.jpg" in reader.text
    assert '"text": "A123BC77"' in reader.text
    assert f'"text_native": "{to_cyrillic("A123BC77")}"' in reader.text


def test_only_files_of_the_page_are_run_or_loaded(reader: Reader) -> None:
    loaded = {one["src"] for one in reader.named("script") + reader.named("img")}
    loaded |= {one["href"] for one in reader.named("link")}
    assert loaded == {"page/docs.js", "page/page.css", "page/docs.css", "page/icon.svg"}
    assert loaded <= {f"page/{name}" for name in FILES}
    assert not {name for name, _ in reader.tags} & {"iframe", "object", "embed", "style"}
    assert not reader.attributes() & {"style", "onclick"}


def test_every_call_with_pictures_has_a_form(reader: Reader) -> None:
    assert [(one["id"], one["action"], one["data-file"]) for one in reader.named("form")] == [
        ("try-recognize", "v1/recognize", "picture"),
        ("try-read", "v1/read", "picture"),
        ("try-plateReader", "v1/plate-reader/", "upload"),
        ("try-visionAlpr", "v1/vision/alpr", "upload"),
    ]


def test_a_form_has_every_parameter_and_names_each_of_its_inputs(reader: Reader) -> None:
    told = [one for one in reader.named("input") if "data-name" in one]
    names = [one["data-name"] for one in told if str(one["id"]).startswith("recognize-")]
    assert names == [*PARAMETERS, *LABELS]
    labelled = {one["for"] for one in reader.named("label")}
    assert {one["id"] for one in reader.named("input")} == labelled


def test_an_input_takes_what_the_schema_takes(reader: Reader) -> None:
    (side,) = [one for one in reader.named("input") if one["id"] == "recognize-detector_side_px"]
    limits = [side[name] for name in ("type", "min", "max", "step", "placeholder")]
    assert limits == ["number", "32", "4096", "32", "e.g. 1280"]


def test_screen_readers_find_their_way(reader: Reader) -> None:
    assert reader.named("html") == [{"lang": "en"}]
    assert len(reader.named("h1")) == len(reader.named("main")) == 1
    assert {attributes["scope"] for attributes in reader.named("th")} == {"col", "row"}


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
    assert len(Reader(html).named("script")) == 1
    assert "onclick" not in Reader(html).attributes()


@pytest.mark.parametrize(
    ("wants_keys", "words"),
    [pytest.param(True, "need a key", id="wanted"), pytest.param(False, "may have", id="not")],
)
def test_the_page_says_whether_keys_are_needed(wants_keys: bool, words: str) -> None:
    assert f"Calls {words}" in Reader(page(document(wants_keys, Limits()))).text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_there_in_each_language(language: str) -> None:
    html = pages(document(wants_keys=False, limits=Limits()), GatewayOptions())[language]
    titles = [kind.title for kind in KINDS.values()]
    docs = read_texts()[language].docs
    text = Reader(html).text
    assert f'<html lang="{language}">' in html
    assert [title for title in titles if docs.get(title, title) not in text] == []
