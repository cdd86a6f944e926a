"""The page on security names the limits that there are."""

import re
from dataclasses import asdict
from pathlib import Path

from orchestrator.serving.gateway.options import Limits

PROJECT = Path(__file__).resolve().parents[2]
SECURITY = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")
LIMIT = re.compile(r"^\| `(\w+)` \| ([\d.]+) \|", re.MULTILINE)


def test_every_limit_is_named_with_its_default() -> None:
    named = {name: float(value) for name, value in LIMIT.findall(SECURITY)}
    assert named == {name: float(value) for name, value in asdict(Limits()).items()}
