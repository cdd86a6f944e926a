"""Pictures made from a picture: drawings with its plates, and crops of its plates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.errors import PictureError
from orchestrator.imaging.files import CROP, DRAWING, unpack
from orchestrator.imaging.headers import check_file
from orchestrator.plates import Plates

MAX_PIXELS = 1_000_000_000
"""Largest number of pixels that any server accepts."""


@dataclass(frozen=True)
class OutputFile:
    """A file to write.

    Attributes:
        path: Its path, if that is free.
        content: Its bytes.
        is_crop: A plate that was cut out, not a drawing.
    """

    path: Path
    content: bytes
    is_crop: bool = False


@dataclass(frozen=True)
class OutputPictures:
    """Makes drawings and crops.

    Attributes:
        drawings: Folder for drawings of plates on their pictures; None for no drawings.
        crops: Folder for the plates, cut out and straightened; None for no crops.
        suffix: `.jpg`, or `.png` for lossless files.
        is_all: Plates without a text are drawn, too.
    """

    drawings: Path | None = None
    crops: Path | None = None
    suffix: str = ".jpg"
    is_all: bool = False

    def make(self, file: bytes, entry: Entry, below: Path) -> tuple[OutputFile, ...]:
        """Return the files to write.

        Args:
            file: The picture's file.
            entry: Its result, in its pixels. Drawings have the plates that people are shown.
            below: Path below the two folders; the name of each crop also contains the plate's text.

        Raises:
            PictureError: The picture cannot be unpacked on this machine.
        """
        if not self.drawings and not (self.crops and entry.plates):
            return ()
        return tuple(self._make(file, entry, below))

    def _make(self, file: bytes, entry: Entry, below: Path) -> Iterator[OutputFile]:
        from orchestrator.imaging.drawing import annotate, straighten, to_jpeg, to_png

        encode = to_png if self.suffix == ".png" else to_jpeg
        picture = unpack(file, check_file(file, MAX_PIXELS))
        if self.drawings:
            plates = tuple(plate for plate, _ in entry.choose_shown(is_all=self.is_all))
            drawing = encode(annotate(picture, Plates(plates)), DRAWING)
            yield OutputFile(self.drawings / below.with_suffix(self.suffix), drawing)
        if self.crops:
            for number, plate in enumerate(entry.plates, 1):
                text = f"-{plate.text}" if plate.text.isalnum() else ""
                name = f"{below.stem}-{number}{text}{self.suffix}"
                crop = encode(straighten(picture, plate), CROP)
                yield OutputFile(self.crops / below.with_name(name), crop, is_crop=True)


class NewFiles:
    """Writes files without overwriting others: a name that is taken gets a number."""

    def __init__(self) -> None:
        self._numbers: dict[Path, int] = {}  # last number of each name that was taken

    def write(self, picture: OutputFile) -> Path:
        """Write a file and return its path.

        Raises:
            PictureError: It cannot be written.
        """
        for number in itertools.count(self._numbers.get(picture.path, 0) + 1):
            path = picture.path
            if number > 1:
                self._numbers[path] = number
                path = path.with_stem(f"{path.stem}-{number}")
            if _write_new(path, picture.content):
                return path
        raise AssertionError("some number is free")


def _write_new(path: Path, content: bytes) -> bool:
    """Write a file; tell whether its name was free."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        if isinstance(error, FileExistsError) and path.parent.is_dir():
            return False
        raise PictureError(f"{path}: cannot be written: {error.strerror}") from error
    return True
