"""The messages on the troubleshooting page are those of the code."""

import re

import pytest

from tests.samples import PROJECT

PAGE = (PROJECT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^### `(.+)`$", PAGE, re.M)
SAID = [
    *PROJECT.glob("orchestrator/**/*.py"),
    *PROJECT.glob("plate_cameras/**/*.py"),
    PROJECT / "scripts" / "install.py",
]


@pytest.fixture(scope="module")
def sources() -> str:
    """The text of all source files; strings over several lines are joined."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in SAID)
    return re.sub(r'"\s*\n\s*f?"', "", text)


@pytest.mark.parametrize("message", QUOTED)
def test_the_code_says_so(sources: str, message: str) -> None:
    parts = [re.escape(part) for part in message.split("...") if part]
    assert re.search(r"[^\n]*?".join(parts), sources)
