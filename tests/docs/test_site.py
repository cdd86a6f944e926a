"""The site builds without warnings, has every page, and loads nothing from other hosts."""

import importlib
import importlib.util
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import orchestrator
from orchestrator.host.toml_files import tomllib
from tests.samples import PROJECT

pytestmark = pytest.mark.server

DRAWN = re.compile(r"^```text\n((?:model_repository|workshop)/.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^( *)((?:[\w./]+ )*[\w./]+)(?:  |$)", re.MULTILINE)


def script(name: str) -> ModuleType:
    path = PROJECT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = script("build_docs")


class LoadedAddresses(HTMLParser):
    """Collects the URLs that a browser loads together with a page; links do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        is_link = tag == "link" and attributes.get("rel") not in ("canonical", "prev", "next")
        if tag in ("script", "img", "iframe", "source") or is_link:
            self.addresses += filter(None, (attributes.get("src"), attributes.get("href")))


def in_navigation(entries: list[object]) -> Iterator[str]:
    """Yield the pages of a navigation, including those of its sections."""
    for entry in entries:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else in_navigation(value)


def test_every_page_stands_in_the_navigation_once() -> None:
    config = tomllib.loads((PROJECT / "zensical.toml").read_text(encoding="utf-8"))
    assert sorted(in_navigation(config["project"]["nav"])) == sorted(BUILD.pages().values())


def test_the_site_has_every_page_and_what_they_show(site: Path) -> None:
    pages = [Path(page).with_suffix(".html") for page in BUILD.pages().values()]
    assert [page for page in pages if not (site / page).is_file()] == []
    start = (site / "index.html").read_text(encoding="utf-8")
    assert 'src="street.jpg"' in start
    assert (site / "street.jpg").is_file()


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    parser = LoadedAddresses()
    for page in site.rglob("*.html"):
        parser.feed(page.read_text(encoding="utf-8"))
    assert len(parser.addresses) > 100
    assert [address for address in parser.addresses if "//" in address] == []
    styles = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//|@import", styles) == []


def test_the_reference_says_what_the_docstrings_say(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name in orchestrator.__all__ if f'id="orchestrator.{name}"' not in text] == []
    assert "One client serves any number of threads" in text
    assert "Longest side of the detector" in re.sub(r"\s+", " ", text)


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    reference = script("command_reference")
    text = reference.PAGE.read_text(encoding="utf-8")
    assert text == reference.render(), "run .venv/bin/python scripts/command_reference.py"


def test_the_table_of_limits_is_what_the_options_declare() -> None:
    reference = script("command_reference")
    text = reference.LIMITS_PAGE.read_text(encoding="utf-8")
    assert reference.LIMITS.search(text)
    assert text == reference.fill_limits(text), "run .venv/bin/python scripts/command_reference.py"


@pytest.mark.parametrize("index", [0, 1])
def test_the_map_names_what_is_there(index: int) -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folder, paths = PROJECT, []
    for indent, names in NAMED.findall(DRAWN.findall(page)[index]):
        folder = folder if indent else PROJECT
        paths += [folder / name for name in names.split()]
        folder = folder if indent else PROJECT / names.split()[0]
    assert len(paths) >= 8
    assert [path for path in paths if not path.exists()] == []


@pytest.mark.parametrize(
    ("text", "adjusted"),
    [
        pytest.param("[a](gateway.md#keys)", "[a](gateway.md#keys)", id="page beside it"),
        pytest.param("[a](#here)", "[a](#here)", id="anchor"),
        pytest.param("[a](https://kserve.org)", "[a](https://kserve.org)", id="elsewhere"),
        pytest.param("![a](street.jpg)", "![a](street.jpg)", id="picture"),
        pytest.param("[a](../weights/README.md#x)", "[a](project/weights.md#x)", id="page"),
        pytest.param("[a](../examples/ocr)", "[a](examples/ocr.md)", id="folder with a page"),
        pytest.param("[a](../README.md)", "[a](index.md)", id="README"),
        pytest.param("[the file](../Dockerfile)", "the file (`Dockerfile`)", id="code"),
        pytest.param("[`deploy/slim.sh`](../deploy/slim.sh)", "`deploy/slim.sh`", id="its path"),
        pytest.param("[slim.sh](../deploy/slim.sh)", "`deploy/slim.sh`", id="its name"),
        pytest.param("`[a](../x)`", "`[a](../x)`", id="code is left alone"),
        pytest.param("```\n[a](../x)\n```", "```\n[a](../x)\n```", id="a block, too"),
    ],
)
def test_links_are_adjusted(text: str, adjusted: str) -> None:
    assert BUILD.adjust(text, "docs/docker.md") == adjusted


def test_a_link_from_a_page_outside_of_docs_leads_into_it() -> None:
    link = BUILD.adjust("[a](../../docs/detectors.md)", "examples/ocr/README.md")
    assert link == "[a](../detectors.md)"


def test_a_link_to_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"docs/docker\.md: wanted .*, got \.\./gone\.py"):
        BUILD.adjust("[a](../gone.py)", "docs/docker.md")
