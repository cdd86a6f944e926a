"""The HTML of the pages: complete in both languages, with security headers, without inline code."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from orchestrator.serving.gateway.http.page.texts import LANGUAGES
from orchestrator.serving.gateway.options import GatewayOptions
from plate_cameras.control_room.pages import routes as html
from plate_cameras.control_room.pages.routes import PAGES, Page, render_page
from plate_cameras.control_room.room_texts import read_room_texts
from plate_cameras.gates.reasons import REASONS
from plate_cameras.store.finding.pass_query import PassQuery
from plate_cameras.store.people.people import Person
from plate_cameras.unmet_conditions import SENTENCES
from tests.serving.gateway.http.html_reader import HtmlReader

TEXTS = read_room_texts()
FOLDER = Path(html.__file__).parent
SAY_CALL = re.compile(r'\bsay\("(\w+)"')
VALUE = re.compile(r"{(\w+)}")
OWN = ("language", "shared_texts", "details", "docs")
"""Parts that are another in each language. English details are the service's own."""
EACH = pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])


def read(page: Page, language: str = "en") -> HtmlReader:
    return HtmlReader(render_page(page, TEXTS[language], GatewayOptions()))


@EACH
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_says_its_language_and_title(page: Page, language: str) -> None:
    text = render_page(page, TEXTS[language], GatewayOptions())
    assert f'<html lang="{language}">' in text
    assert f"<title>{TEXTS[language].titles[page.name]} ·" in text
    assert "$" not in text.replace("${", "")


@EACH
def test_nothing_is_inline_or_loaded_from_elsewhere_and_links_lead_to_the_root(page: Page) -> None:
    reader = read(page)
    assert not [name for name in reader.attributes() if name == "style" or name.startswith("on")]
    links = [*reader.values("src"), *(link["href"] or "" for link in reader.named("link"))]
    assert not [link for link in links if "//" in link or link.startswith("/")]
    (script,) = reader.named("script")
    assert script["src"] == f"{page.root}control/{page.name}.js"
    assert page.root == ("../" if page.name == "pass" else "")
    current_hrefs = [link["href"] for link in reader.named("a") if link.get("aria-current")]
    hrefs = [] if page.name == "login" else [page.root + page.path[1:].partition("/")[0]]
    assert current_hrefs == hrefs


def test_each_condition_of_the_audit_has_a_word() -> None:
    """The names are those of the queries that the store records."""
    kinds = (PassQuery, Person)
    names = {field.name for kind in kinds for field in fields(kind)} - {"limit", "cursor"}
    names |= {"list_name", "id", "gate", "camera", "site", "overstays", "password"}
    assert {f"asked_{name}" for name in names} - TEXTS["ru"].script.keys() == set()


def test_the_languages_have_the_same_texts() -> None:
    first, second = (TEXTS[language] for language in LANGUAGES)
    parts = [field.name for field in fields(first) if field.name not in OWN]
    assert [{*getattr(first, part)} for part in parts] == [
        {*getattr(second, part)} for part in parts
    ]


def test_scripts_say_only_what_there_is() -> None:
    (body,) = read(PAGES[0]).named("body")
    words = json.loads(body["data-words"] or "")
    names = {name for file in FOLDER.glob("*.js") for name in SAY_CALL.findall(file.read_text())}
    assert not names - {*words}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_of_a_gate_is_said_with_its_values(language: str) -> None:
    texts = TEXTS[language].script
    values = {code: VALUE.findall(texts[f"because_{code}"]) for code in REASONS}
    assert values == {code: VALUE.findall(sentence) for code, sentence in REASONS.items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_condition_that_cannot_be_met_is_said_with_its_name(language: str) -> None:
    texts = TEXTS[language].script
    values = {code: VALUE.findall(texts[f"unmet_{code}"]) for code in SENTENCES}
    assert values == {code: ["name"] for code in SENTENCES}
