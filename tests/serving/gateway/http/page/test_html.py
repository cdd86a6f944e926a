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


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_its_language_and_names_the_other(language: str) -> None:
    """Its footer leads to licence, source and documentation."""
    source = "https://shop.example/source"
    html = render(TEXTS[language], GatewayOptions(source_url=source))
    (other,) = {*LANGUAGES} - {language}
    assert Reader(html).named("html") == [{"lang": language}]
    links = [link for link in Reader(html).named("a") if link.get("lang") == other]
    assert links[0]["href"] == f"?lang={other}"
    footer = html[html.index("<footer") : html.index("</footer>") + len("</footer>")]
    links = [link["href"] for link in Reader(footer).named("a")]
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
    reader = Reader(render(TEXTS["en"], GatewayOptions(**options)))
    (live,) = (link for link in reader.named("a") if link.get("href") == "live")
    (field,) = (one for one in reader.named("div") if one.get("class") == "key")
    assert ("hidden" not in field, "hidden" not in live) == (has_key_field, has_link)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_script_gets_its_words_and_limits(language: str) -> None:
    options = GatewayOptions(limits=Limits(body_mb=7, pixels=2_500_000))
    (body,) = Reader(render(TEXTS[language], options)).named("body")
    words = json.loads(body["data-words"] or "")
    assert words["problems"] == TEXTS[language].problems
    assert words["plate"] == TEXTS[language].script["plate"]
    assert words["limits"] == {"bytes": 7 * 1024 * 1024, "pixels": 2_500_000}


def test_nothing_is_inline_or_loaded_from_elsewhere() -> None:
    reader = Reader(render(TEXTS["en"], GatewayOptions()))
    assert not [name for name in reader.attributes() if name == "style" or name.startswith("on")]
    assert not reader.named("style")
    assert [script["src"] for script in reader.named("script")] == ["page/page.js"]
    links = [*reader.values("src"), *(one["href"] or "" for one in reader.named("link"))]
    assert not [link for link in links if "//" in link or link.startswith("/")]
    assert CSP.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in CSP


def test_texts_are_text() -> None:
    hostile = dict.fromkeys(TEXTS["en"].page, HOSTILE)
    script = dict.fromkeys(TEXTS["en"].script, HOSTILE)
    html = render(replace(TEXTS["en"], page=hostile, script=script), GatewayOptions())
    assert len(Reader(html).named("script")) == 1
