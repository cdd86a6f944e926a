"""The sentences of the control room in each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from orchestrator.host.toml_files import read_table
from orchestrator.serving.gateway.extension import LANGUAGES, Texts, read_texts


@dataclass(frozen=True)
class OwnTexts:
    """The sentences of the control room in one language, as their file has them.

    Attributes:
        script: Texts of the scripts. The scripts replace each `{name}` in them.
        problems: Texts about failed requests, by the reason of the problem.
        details: See `Texts`.
        docs: See `Texts`.
    """

    language: str
    titles: Mapping[str, str]
    page: Mapping[str, str]
    script: Mapping[str, str]
    problems: Mapping[str, str]
    details: Mapping[str, str]
    docs: Mapping[str, str]


@dataclass(frozen=True)
class RoomTexts(OwnTexts):
    """The texts of the control room in one language, together with those of the first page."""

    shared_texts: Texts


@cache
def read_room_texts() -> dict[str, RoomTexts]:
    """Return the texts by language.

    Raises:
        SettingsError: A text in a file is missing or wrong.
    """
    folder = Path(__file__).parent / "pages"
    files = {name: read_table(OwnTexts, folder / f"{name}.toml") for name in LANGUAGES}
    shared = read_texts()
    return {name: RoomTexts(**vars(own), shared_texts=shared[name]) for name, own in files.items()}
