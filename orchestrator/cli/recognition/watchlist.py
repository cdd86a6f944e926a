"""Plates to flag: a list of them, and which of them a text is, or nearly is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from orchestrator.edits import edit_distance
from orchestrator.errors import SettingsError
from orchestrator.formats import MAX_LENGTH, Formats
from orchestrator.letters import to_latin
from orchestrator.plates import Plate

SHORTEST = 4
"""Characters of a plate; those of the old kinds have five."""
BEHIND = re.compile(r"[\s,;]+")
"""What stands between a plate and its note."""
WORD = re.compile(r"([^\s,;]+)([\s,;]*)")
"""A word, and what stands behind it."""
MOST_TOLD = 5
"""Lines of no known kind that are told one by one."""


@dataclass(frozen=True)
class Hit:
    """A plate of the list that a picture's plate says, or nearly says.

    Attributes:
        plate: As the service writes it, Latin letters.
        note: What the list says behind it.
        distance: Characters to change, add or leave out until both are the same.
    """

    plate: str
    note: str
    distance: int


class Watchlist:
    """Finds the nearest plate of a list in no more time for a long list than for a short one.

    Two texts that differ by up to d edits have a text in common that each becomes when up to d of
    its characters are left out: these are looked up, and what is found is compared.

    Source: W. Garbe, "SymSpell", 2012 (symmetric deletes); V. Levenshtein, 1966.
    """

    def __init__(self, notes: dict[str, str], distance: int) -> None:
        """Prepare a list.

        Args:
            notes: By plate, what the list says of it.
            distance: Most edits between a text and a plate of the list, 0 to 2.
        """
        self._notes = notes
        self._distance = distance
        self._shortened: defaultdict[str, list[str]] = defaultdict(list)
        for plate in notes:
            for shorter in _shorten(plate, distance):
                self._shortened[shorter].append(plate)

    def find(self, plate: Plate) -> Hit | None:
        """Return the nearest plate of the list, None where none is near enough.

        A plate whose text was not sure enough is looked up by its best reading.
        """
        text = plate.text or (plate.candidates[0][0] if plate.candidates else plate.raw_text)
        near = {one for shorter in _shorten(text, self._distance) for one in self._of(shorter)}
        hits = [Hit(one, self._notes[one], edit_distance(text, one)) for one in near]
        best = min(hits, key=lambda hit: (hit.distance, hit.plate), default=None)
        return best if best and best.distance <= self._distance else None

    def _of(self, shorter: str) -> list[str]:
        return self._shortened.get(shorter, [])


def read_watchlist(
    path: Path,
    distance: int,
    formats: Formats,
    tell: Callable[[str], object] = lambda message: None,
) -> Watchlist:
    """Read a list: a plate a line, in Latin or Cyrillic letters, and after a blank or comma a note.

    A plate may have blanks in it where it is of a known kind: `A 123 BC 77`. Empty lines are left
    out, and so are those that begin with `#`.

    Args:
        path: The list.
        distance: Most edits between a text and a plate of the list, 0 to 2.
        formats: The known kinds of plates.
        tell: Is told of lines whose plate is of no known kind.

    Raises:
        SettingsError: The file cannot be read, has no plates, or a line that is none.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"watchlist: {path}: cannot be read: {reason}") from error
    notes: dict[str, str] = {}
    unknown: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        plate, note = _split(line.strip(), formats)
        if len(plate) < SHORTEST:
            raise SettingsError(
                f"watchlist: {path}: line {number}: wanted a plate of a known kind, or one without "
                f"blanks, got {line.strip()!r}"
            )
        if not _is_known(plate, formats):
            unknown.append(f"watchlist: {path}: line {number}: {plate!r} is no known kind of plate")
        notes[plate] = note
    if not notes:
        raise SettingsError(f"watchlist: {path}: wanted a plate a line, got none")
    for message in unknown[:MOST_TOLD]:
        tell(f"{message}; it is looked for as it stands")
    if len(unknown) > MOST_TOLD:
        tell(f"watchlist: {path}: {len(unknown) - MOST_TOLD:,} more lines of no known kind")
    return Watchlist(notes, distance)


def _split(line: str, formats: Formats) -> tuple[str, str]:
    """Return the plate and the note of a line.

    The plate is the first word, unless only several words together are of a known kind.
    """
    together = ""
    for word in WORD.finditer(line):
        together += to_latin(word[1])
        if _is_known(together, formats):
            return together, line[word.end() :]
        if word[2].strip() or len(together) >= MAX_LENGTH:  # behind a comma stands the note
            break
    plate, note = [*BEHIND.split(line, maxsplit=1), ""][:2]
    return to_latin(plate), note


def _is_known(plate: str, formats: Formats) -> bool:
    return any(formats.format_of(plate, lines) for lines in (1, 2))


def _shorten(text: str, most: int) -> Iterator[str]:
    """Yield each text that is left when up to so many characters are left out, once."""
    for left_out in range(min(most, len(text)) + 1):
        yield from {"".join(kept) for kept in combinations(text, len(text) - left_out)}
