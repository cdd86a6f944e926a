"""The page of the gateway: its languages, its HTML, and its files, which are public and guarded."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.formats.plate_formats import COUNTRIES, read_formats
from orchestrator.host.distribution import read_version
from orchestrator.serving.gateway.errors import LEAVING
from orchestrator.serving.gateway.http.page.html import CSP, LICENCE_URL, render
from orchestrator.serving.gateway.http.page.routes import FILES
from orchestrator.serving.gateway.http.page.texts import (
    LANGUAGES,
    Texts,
    choose_language,
    read_texts,
)
from orchestrator.serving.gateway.http.problem_details import KINDS
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from tests.samples import PROJECT
from tests.serving.gateway.http.html_reader import HtmlReader
from tests.serving.gateway.http.service import client_of
from tests.serving.gateway.key_files import write_keys

TEXTS = read_texts()
ENGLISH, RUSSIAN = TEXTS["en"], TEXTS["ru"]
FORMATS = [read_formats(file) for file in COUNTRIES.glob("*/formats.toml")]
HOLE = re.compile(r"\{\w+\}|\$\w+")
HOSTILE = '"><script>alert(1)</script>'


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_its_language_and_names_the_other(language: str) -> None:
    """Its footer leads to licence, source and documentation."""
    source = "https://shop.example/source"
    html = render(TEXTS[language], GatewayOptions(source_url=source))
    (other,) = {*LANGUAGES} - {language}
    assert HtmlReader(html).named("html") == [{"lang": language}]
    links = [link for link in HtmlReader(html).named("a") if link.get("lang") == other]
    assert links[0]["href"] == f"?lang={other}"
    footer = html[html.index("<footer") : html.index("</footer>") + len("</footer>")]
    links = [link["href"] for link in HtmlReader(footer).named("a")]
    assert links == [LICENCE_URL, source, "docs"]
    assert read_version() in footer


KEYS, CAMERAS = Path("keys.toml"), Path("CAMERAS.toml")


@pytest.mark.parametrize(
    ("options", "has_key_field", "has_link"),
    [
        pytest.param({}, False, False, id="nobody has a key"),
        pytest.param({"keys": KEYS}, True, False, id="some have"),
        pytest.param({"keys": KEYS, "wants_keys": True}, True, False, id="wanted"),
        pytest.param({"cameras": CAMERAS}, False, True, id="cameras"),
        pytest.param(  # the script shows it to readers who have not logged in
            {"keys": KEYS, "wants_keys": True, "cameras": CAMERAS}, False, True, id="both"
        ),
    ],
)
def test_a_key_can_be_given_where_there_are_keys_and_a_link_leads_to_the_control_room(
    options: dict, *, has_key_field: bool, has_link: bool
) -> None:
    reader = HtmlReader(render(ENGLISH, GatewayOptions(**options)))
    (live,) = (link for link in reader.named("a") if link.get("href") == "live")
    (field,) = (
        attributes for attributes in reader.named("div") if attributes.get("class") == "key"
    )
    assert ("hidden" not in field, "hidden" not in live) == (has_key_field, has_link)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_script_gets_its_words_and_limits(language: str) -> None:
    options = GatewayOptions(limits=Limits(body_mb=7, pixels=2_500_000))
    (body,) = HtmlReader(render(TEXTS[language], options)).named("body")
    words = json.loads(body["data-words"] or "")
    assert words["problems"] == TEXTS[language].problems
    assert words["plate"] == TEXTS[language].script["plate"]
    assert words["limits"] == {"bytes": 7 * 1024 * 1024, "pixels": 2_500_000}


def test_nothing_is_inline_or_loaded_from_elsewhere() -> None:
    reader = HtmlReader(render(ENGLISH, GatewayOptions()))
    assert not [name for name in reader.attributes() if name == "style" or name.startswith("on")]
    assert not reader.named("style")
    assert [script["src"] for script in reader.named("script")] == ["page/page.js"]
    links = [
        *reader.values("src"),
        *(attributes["href"] or "" for attributes in reader.named("link")),
    ]
    assert not [link for link in links if "//" in link or link.startswith("/")]
    assert CSP.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in CSP


def test_texts_are_text() -> None:
    hostile = dict.fromkeys(ENGLISH.page, HOSTILE)
    script = dict.fromkeys(ENGLISH.script, HOSTILE)
    html = render(replace(ENGLISH, page=hostile, script=script), GatewayOptions())
    assert len(HtmlReader(html).named("script")) == 1


def holes(texts: Texts) -> dict[str, list[str]]:
    """Return the placeholders of each sentence."""
    sentences = {**texts.page, **texts.script, **texts.problems}
    return {name: sorted(HOLE.findall(text)) for name, text in sentences.items()}


@pytest.mark.parametrize(
    ("preference", "accept_language", "language"),
    [
        (None, "", "en"),
        (None, "ru", "ru"),
        (None, "ru-RU,ru;q=0.9,en;q=0.8", "ru"),
        (None, "en-GB,ru;q=0.5", "en"),
        (None, "de, ru;q=0.3", "ru"),
        (None, "ru;q=0, de", "en"),
        (None, "ru;q=much", "en"),
        (None, "ru;q=nan", "en"),
        ("ru", "en", "ru"),
        ("../ru", "en", "en"),
    ],
)
def test_a_reader_gets_a_language(
    preference: str | None, accept_language: str, language: str
) -> None:
    assert choose_language(preference, accept_language) == language


def test_languages_say_the_same_things() -> None:
    assert [(name, texts.language) for name, texts in TEXTS.items()] == [
        (name, name) for name in LANGUAGES
    ]
    assert holes(ENGLISH) == holes(RUSSIAN)
    cyrillic = [*RUSSIAN.problems.values(), *RUSSIAN.regions.values()]
    assert [text for text in cyrillic if not re.search(r"[\u0430-\u044f]", text)] == []


def test_every_problem_format_and_region_has_the_page_s_words() -> None:
    problems = {*KINDS, LEAVING.reason}
    assert all(texts.problems[reason] for texts in (ENGLISH, RUSSIAN) for reason in problems)
    names = {entry.name for formats in FORMATS for entry in formats.format}
    assert {*ENGLISH.formats} == {*RUSSIAN.formats} == names
    assert {*RUSSIAN.regions} == {entry.name for formats in FORMATS for entry in formats.region}


KEY = {"authorization": "Bearer secret"}
PATHS = ["/", *(f"/page/{name}" for name in FILES)]


@pytest.fixture
def keyed_options(tmp_path: Path) -> GatewayOptions:
    """A gateway that requires a key for every request."""
    keys = write_keys(tmp_path, gate="secret")
    return GatewayOptions(keys=keys, wants_keys=True, audit=tmp_path / "audit.jsonl")


@pytest.mark.parametrize("path", PATHS)
def test_the_page_is_public_and_guarded(keyed_options: GatewayOptions, path: str) -> None:
    reply = client_of(keyed_options).get(path)
    assert reply.status_code == 200
    assert reply.headers["content-security-policy"] == CSP
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert keyed_options.audit.read_text() == ""  # no call


def test_calls_still_want_a_key_and_the_page_takes_nothing(keyed_options: GatewayOptions) -> None:
    assert client_of(keyed_options).post("/", headers=KEY).status_code == 405
    reply = client_of(keyed_options).post("/v1/recognize")
    assert reply.status_code == 401
    assert '"reason":"key"' in keyed_options.audit.read_text().replace(" ", "")


@pytest.mark.parametrize(
    "path", ["/page/", "/page/en.toml", "/page/routes.py", "/page/%2e%2e/app.py"]
)
def test_other_files_are_not_served(keyed_options: GatewayOptions, path: str) -> None:
    assert client_of(keyed_options).get(path, headers=KEY).status_code == 404


@pytest.mark.parametrize(
    ("accept_language", "path", "language"),
    [("ru-RU,ru;q=0.9", "/", "ru"), ("ru", "/?lang=en", "en"), ("de", "/?lang=%3Cb%3E", "en")],
    ids=["accepted", "asked", "unknown"],
)
def test_a_language_is_chosen_and_told(
    keyed_options: GatewayOptions, accept_language: str, path: str, language: str
) -> None:
    reply = client_of(keyed_options).get(path, headers={"accept-language": accept_language})
    assert f'<html lang="{language}">'.encode() in reply.content
    assert reply.headers["content-language"] == language
    assert "accept-language" in reply.headers["vary"]


def test_every_file_of_the_page_is_served_with_its_type_and_stays_small(
    keyed_options: GatewayOptions,
) -> None:
    replies = {name: client_of(keyed_options).get(f"/page/{name}") for name in FILES}
    kinds = {name: reply.headers["content-type"] for name, reply in replies.items()}
    assert {name: kind.partition(";")[0] for name, kind in kinds.items()} == FILES
    assert sum(len(reply.content) for reply in replies.values()) < 230_000
    folder = PROJECT / "orchestrator" / "serving" / "gateway" / "http" / "page"
    suffixes = {".css", ".js", ".jpg", ".svg"}
    assert {*FILES} == {file.name for file in folder.iterdir() if file.suffix in suffixes}
