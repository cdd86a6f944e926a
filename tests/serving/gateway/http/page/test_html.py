import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.host.distribution import read_version
from orchestrator.serving.gateway.http.page.html import CSP, LICENCE_URL, render
from orchestrator.serving.gateway.http.page.texts import LANGUAGES, read_texts
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from tests.serving.gateway.http.html_reader import Reader

TEXTS = read_texts()
HOSTILE = '"><script>alert(1)</script>'


def read(language: str = "en", options: GatewayOptions | None = None) -> Reader:
    return Reader(render(TEXTS[language], options or GatewayOptions()))


def key_field(options: GatewayOptions) -> dict[str, str | None]:
    (field,) = (one for one in read(options=options).named("div") if one.get("class") == "key")
    return field


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_its_language_and_names_the_other(language: str) -> None:
    reader = read(language)
    (other,) = {*LANGUAGES} - {language}
    assert reader.named("html") == [{"lang": language}]
    links = [link for link in reader.named("a") if link.get("lang") == other]
    assert links[0]["href"] == f"?lang={other}"


@pytest.mark.parametrize(
    ("cameras", "is_hidden"),
    [pytest.param(Path("CAMERAS.toml"), False, id="cameras"), pytest.param(None, True, id="none")],
)
def test_the_page_links_to_the_control_room(cameras: Path | None, is_hidden: bool) -> None:
    links = read(options=GatewayOptions(cameras=cameras)).named("a")
    (live,) = (link for link in links if link.get("href") == "live")
    assert ("hidden" in live) is is_hidden


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_script_gets_its_words(language: str) -> None:
    (body,) = read(language).named("body")
    words = json.loads(body["data-words"] or "")
    assert words["problems"] == TEXTS[language].problems
    assert words["plate"] == TEXTS[language].script["plate"]


def test_the_script_gets_the_limits() -> None:
    options = GatewayOptions(limits=Limits(body_mb=7, pixels=2_500_000))
    (body,) = read(options=options).named("body")
    limits = json.loads(body["data-words"] or "")["limits"]
    assert limits == {"bytes": 7 * 1024 * 1024, "pixels": 2_500_000}


def test_nothing_is_inline_or_loaded_from_elsewhere() -> None:
    reader = read()
    assert not [name for name in reader.attributes() if name == "style" or name.startswith("on")]
    assert not reader.named("style")
    assert [script["src"] for script in reader.named("script")] == ["page/page.js"]
    links = [*reader.values("src"), *(one["href"] or "" for one in reader.named("link"))]
    assert not [link for link in links if "//" in link or link.startswith("/")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_footer_leads_to_licence_source_and_documentation(language: str) -> None:
    source = "https://shop.example/source"
    html = render(TEXTS[language], GatewayOptions(source_url=source))
    footer = html[html.index("<footer") : html.index("</footer>") + len("</footer>")]
    links = [link["href"] for link in Reader(footer).named("a")]
    assert links == [LICENCE_URL, source, "docs"]
    assert read_version() in footer


def test_the_policy_allows_nothing_inline() -> None:
    assert CSP.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in CSP


def test_every_field_has_a_label() -> None:
    reader = read()
    fields = {one["id"] for tag in ("input", "textarea") for one in reader.named(tag)}
    assert fields == {one["for"] for one in reader.named("label")}


def test_the_form_works_without_a_script() -> None:
    reader = read()
    ids = {attributes.get("id"): attributes for _, attributes in reader.tags}
    form, pictures = ids["form"], ids["pictures"]
    assert (form["action"], form["method"]) == ("v1/recognize", "post")
    assert (form["enctype"], pictures["name"]) == ("multipart/form-data", "picture")
    assert "name" not in ids["key"]  # which is no part of the form


@pytest.mark.parametrize(
    ("options", "is_hidden"),
    [
        pytest.param(GatewayOptions(), True, id="nobody has a key"),
        pytest.param(GatewayOptions(keys=Path("keys.toml")), False, id="some have"),
        pytest.param(GatewayOptions(keys=Path("keys.toml"), wants_keys=True), False, id="wanted"),
        pytest.param(
            GatewayOptions(keys=Path("keys.toml"), wants_keys=True, cameras=Path("CAMERAS.toml")),
            True,
            id="the script shows it to readers who have not logged in",
        ),
    ],
)
def test_a_key_can_be_given_where_there_are_keys(options: GatewayOptions, is_hidden: bool) -> None:
    assert ("hidden" in key_field(options)) == is_hidden


def test_texts_are_text() -> None:
    hostile = dict.fromkeys(TEXTS["en"].page, HOSTILE)
    script = dict.fromkeys(TEXTS["en"].script, HOSTILE)
    html = render(replace(TEXTS["en"], page=hostile, script=script), GatewayOptions())
    assert len(Reader(html).named("script")) == 1
