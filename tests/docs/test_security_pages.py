"""The pages on security and privacy say nothing that is not there."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from orchestrator.gateway.options import Limits

PROJECT = Path(__file__).resolve().parents[2]
PAGES = ("SECURITY.md", "docs/security.md", "docs/why/security.md", "docs/privacy.md")
SECURITY = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")
FLAWS = (PROJECT / "docs" / "why" / "security.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LIMIT = re.compile(r"^\| `(\w+)` \| ([\d.]+) \|", re.MULTILINE)
OURS = re.compile(
    r"`((?:deploy|docs|orchestrator|scripts|tests|training|weights)/[\w./-]+|[\w-]+\.(?:lock|py))`"
)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links() -> list[object]:
    """Each page with each of its links."""
    return [
        pytest.param(PROJECT / page, target, id=f"{page} {target}")
        for page in PAGES
        for target in LINK.findall((PROJECT / page).read_text(encoding="utf-8"))
    ]


def files() -> list[object]:
    """Each file of the project that the pages name without a link."""
    found = {
        name
        for page in PAGES
        for name in OURS.findall((PROJECT / page).read_text(encoding="utf-8"))
    }
    return [pytest.param(name, id=name) for name in sorted(found)]


def anchors(page: Path) -> set[str]:
    """What GitHub lets links lead to, and the page's beginning."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {"", *(re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings)}


@pytest.mark.parametrize(("page", "target"), links())
def test_each_link_leads_somewhere(page: Path, target: str) -> None:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    assert file.is_file()
    assert anchor in anchors(file)


@pytest.mark.parametrize("name", files())
def test_each_file_that_is_named_is_there(name: str) -> None:
    assert (PROJECT / name).exists()


def test_every_limit_is_named_with_its_default() -> None:
    named = {name: float(value) for name, value in LIMIT.findall(SECURITY)}
    assert named == {name: float(value) for name, value in asdict(Limits()).items()}


def test_the_limits_can_be_set_as_the_page_says() -> None:
    texts = tuple(f"{name}={value}" for name, value in LIMIT.findall(SECURITY))
    assert Limits().updated(texts) == Limits()


def test_the_gpu_image_has_the_triton_that_the_page_names() -> None:
    base = re.search(r"tritonserver:(\d+\.\d+)", (PROJECT / "Dockerfile").read_text())
    assert base is not None
    assert f"[gpu image](docker.md) has {base[1]}." in " ".join(SECURITY.split())


def test_no_flaw_is_fixed_later_than_in_the_version_that_is_recommended() -> None:
    (recommended,) = re.findall(r"(\d\d\.\d\d) has every fix", SECURITY)
    fixed = re.findall(r"\((\d\d\.\d\d)\)", FLAWS)
    assert fixed
    assert max(fixed) <= recommended
