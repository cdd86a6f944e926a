"""The words of result files for people: titles, regions and kinds of plates in their language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.cli.recognition.options import Language
from orchestrator.cli.recognition.result_entry import COLUMNS, Row
from orchestrator.plates import native_text
from orchestrator.serving.gateway.http.page.texts import read_texts

LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
"""Variables with the language of people, the first one that is set (POSIX.1-2017, 8.2)."""


TITLES = {
    Language.RU: (
        "фото",
        "ошибка",
        "номеров на фото",
        "какой по счёту",
        "номер",
        "уверенность",
        "прочитанные символы",
        "тип номера",
        "код региона",
        "регион",
        "уверенность, что это номер",
        "слева",
        "сверху",
        "справа",
        "снизу",
        "номер из списка",
        "отличается символов",
        "страна",
        "уверенность в стране",
    )
}
"""Titles of the columns by language."""


@dataclass(frozen=True)
class FileWords:
    """The words of a table.

    Attributes:
        titles: Titles of `COLUMNS`.
        formats: Kinds of plates by the names of their formats.
        regions: Names of regions by their English names.
        is_native: Texts have the letters of the plate.
    """

    titles: Sequence[str] = COLUMNS
    formats: Mapping[str, str] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)
    is_native: bool = False

    @classmethod
    def of(cls, language: Language) -> FileWords:
        """Return the words of a language. English files are also for programs."""
        if language not in TITLES:
            return cls()
        texts = read_texts()[language.value]
        return cls(TITLES[language], texts.formats, texts.regions, is_native=True)

    def translate(self, row: Row) -> Row:
        """Return a row in this language."""
        kind, region, text = row["format"], row["region"], row["text"]
        words = {"format": self.formats.get(kind, kind), "region": self.regions.get(region, region)}
        if self.is_native and text:
            words["text"] = native_text(text, kind) or text
        return row | words


def language_of(environment: Mapping[str, str]) -> Language:
    """Return the language of the people who use a machine, by its locale; English for others."""
    locale = next(filter(None, (environment.get(name, "") for name in LOCALE)), "")
    return Language.RU if locale.lower().startswith("ru") else Language.EN
