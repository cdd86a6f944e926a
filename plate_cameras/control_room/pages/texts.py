"""The texts of the control room's pages, beside those of the first page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.host.toml_files import read_table
from orchestrator.serving.gateway.extension import LANGUAGES, Texts, read_texts


@dataclass(frozen=True)
class RoomTexts:
    """The sentences of the control room in one language.

    Attributes:
        language: Language code, as in HTML.
        titles: Titles of the pages, by page.
        page: Texts of the HTML.
        script: Texts of the scripts. The scripts replace each `{name}` in them.
        problems: Texts about failed requests, by the reason of the problem.
        shared: Texts of the first page: regions, formats, alphabets, copies and problems.
    """

    language: str
    titles: Mapping[str, str]
    page: Mapping[str, str]
    script: Mapping[str, str]
    problems: Mapping[str, str]
    shared: Texts


@dataclass(frozen=True)
class _File:
    """The content of a file of texts; see `RoomTexts`."""

    language: str
    titles: Mapping[str, str]
    page: Mapping[str, str]
    script: Mapping[str, str]
    problems: Mapping[str, str]


def read_room_texts() -> dict[str, RoomTexts]:
    """Return the texts by language.

    Raises:
        SettingsError: A text in a file is missing or wrong.
    """
    shared, folder = read_texts(), Path(__file__).parent
    files = {name: read_table(_File, folder / f"{name}.toml") for name in LANGUAGES}
    return {
        name: RoomTexts(
            file.language, file.titles, file.page, file.script, file.problems, shared[name]
        )
        for name, file in files.items()
    }
