"""A watchlist of plates to flag; finds the plate of the list that a text equals or resembles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from orchestrator.errors import SettingsError
from orchestrator.formats.edit_distance import edit_distance
from orchestrator.formats.layouts import MAX_LENGTH
from orchestrator.formats.plate_formats import Formats
from orchestrator.formats.transliteration import to_latin
from orchestrator.host.text_lines import decode
from orchestrator.plates import Plate

MIN_CHARACTERS = 4
"""Least characters of a plate; old kinds of plates have five."""
BEHIND = re.compile(r"[\s,;]+")
"""The separator between a plate and its note."""
WORD = re.compile(r"([^\s,;]+)([\s,;]*)")
"""A word and the separator after it."""
MAX_REPORTED = 5
"""Largest number of lines with an unknown kind of plate that are reported one by one."""


@dataclass(frozen=True)
class Hit:
    """A plate of the list that equals or resembles a picture's plate.

    Attributes:
        plate: The plate in the form of the service, Latin letters.
        note: The note of the list.
        distance: Characters to change, add or leave out until both are the same.
    """

    plate: str
    note: str
    distance: int


class Watchlist:
    """Finds the nearest plate of a list, in the same time for short and long lists.

    Two texts may differ by up to d edits. Then leaving out up to d characters of each can give the
    same text. Such texts are looked up, and the plates found are compared.

    Source: W. Garbe, "SymSpell", 2012 (symmetric deletes); V. Levenshtein, 1966.
    """

    def __init__(self, notes: dict[str, str], distance: int) -> None:
        """Prepare a list.

        Args:
            notes: The note of each plate in the list.
            distance: Most edits between a text and a plate of the list, 0 to 2.
        """
        self._notes = notes
        self._distance = distance
        self._shortened: defaultdict[str, list[str]] = defaultdict(list)
        for plate in notes:
            for shorter in _shorten(plate, distance):
                self._shortened[shorter].append(plate)

    def find(self, plate: Plate) -> Hit | None:
        """Return the nearest plate of the list; None if none is near enough.

        A plate whose text has a low score is looked up by its best reading.
        """
        text = plate.text or (plate.candidates[0][0] if plate.candidates else plate.raw_text)
        shortened = _shorten(text, self._distance)
        entries = {entry for shorter in shortened for entry in self._shortened.get(shorter, ())}
        hits = [Hit(entry, self._notes[entry], edit_distance(text, entry)) for entry in entries]
        nearest = min(hits, key=lambda hit: (hit.distance, hit.plate), default=None)
        return nearest if nearest and nearest.distance <= self._distance else None


def read_watchlist(
    path: Path,
    distance: int,
    formats: Formats,
    report: Callable[[str], object] = lambda message: None,
) -> Watchlist:
    """Read a list. Each line has a plate in Latin or Cyrillic letters, and may have a note.

    A blank or comma separates the two. A plate of a known kind may contain blanks: `A 123 BC 77`.
    Empty lines, and lines that begin with `#`, are ignored.

    Args:
        path: The list.
        distance: Most edits between a text and a plate of the list, 0 to 2.
        formats: The known kinds of plates.
        report: Called with lines whose plate has an unknown kind.

    Raises:
        SettingsError: The file cannot be read, has no plates, or has an invalid line.
    """
    try:
        lines = decode(path.read_bytes()).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"watchlist: {path}: cannot be read: {reason}") from error
    notes: dict[str, str] = {}
    messages: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        plate, note = _split(line.strip(), formats)
        if len(plate) < MIN_CHARACTERS:
            raise SettingsError(
                f"watchlist: {path}: line {number}: wanted a plate of a known kind, or one without "
                f"blanks, got {line.strip()!r}"
            )
        if not _is_known(plate, formats):
            messages.append(f"line {number}: {plate!r} is no known kind of plate")
        notes[plate] = note
    if not notes:
        raise SettingsError(f"watchlist: {path}: wanted a plate a line, got none")
    for message in messages[:MAX_REPORTED]:
        report(f"watchlist: {path}: {message}; it is looked for as it stands")
    if len(messages) > MAX_REPORTED:
        report(f"watchlist: {path}: {len(messages) - MAX_REPORTED:,} more lines of no known kind")
    return Watchlist(notes, distance)


def _split(line: str, formats: Formats) -> tuple[str, str]:
    """Return the plate and the note of a line.

    The plate is the first word, or several words if only together they have a known kind.
    """
    plate = ""
    for word in WORD.finditer(line):
        plate += to_latin(word[1])
        if _is_known(plate, formats):
            return plate, line[word.end() :]
        if word[2].strip() or len(plate) >= MAX_LENGTH:  # the note follows a comma
            break
    plate, note = [*BEHIND.split(line, maxsplit=1), ""][:2]
    return to_latin(plate), note


def _is_known(plate: str, formats: Formats) -> bool:
    return any(formats.format_of(plate, lines) for lines in (1, 2))


def _shorten(text: str, max_omissions: int) -> Iterator[str]:
    """Yield once each text that is left after leaving out up to this many characters."""
    for omissions in range(min(max_omissions, len(text)) + 1):
        yield from {"".join(letters) for letters in combinations(text, len(text) - omissions)}
