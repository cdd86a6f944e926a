"""The pictures that a command line names, and the file that each one's drawing goes to."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from orchestrator.errors import PictureError
from orchestrator.picture_files import SUFFIXES, is_drawing


@dataclass(frozen=True)
class Source:
    """A picture to recognise.

    Attributes:
        path: Its file.
        below: Its path below the folder that was named; its name where it was named itself.
    """

    path: Path
    below: Path


def choose_pictures(named: Iterable[Path]) -> tuple[list[Source], bool]:
    """Find the pictures that a command names, and tell of what is none.

    Returns:
        The pictures, and whether all that was named is there.

    Raises:
        typer.Exit: There are none; its status is 2.
    """
    pictures, faults = find_pictures(named)
    for fault in faults:
        typer.echo(fault, err=True)
    if not pictures:
        raise typer.Exit(2)
    return pictures, not faults


def find_pictures(named: Iterable[Path]) -> tuple[list[Source], list[PictureError]]:
    """Expand folders to the pictures in them, at any depth.

    Hidden files and folders are skipped, and so are drawings, which an earlier run left there.

    Args:
        named: Files and folders.

    Returns:
        The pictures, those of a folder sorted; and what is wrong with the rest.
    """
    found: list[Source] = []
    faults: list[PictureError] = []
    for path in named:
        if os.path.isdir(path):  # noqa: PTH112 - it never raises
            inside = _below(path, faults)
            found += [Source(one, one.relative_to(path)) for one in inside]
            if not inside:
                faults.append(
                    PictureError(f"{path}: no pictures in this folder (drawings are none)")
                )
        elif os.path.exists(path):  # noqa: PTH110
            found.append(Source(path, Path(path.name)))
        else:
            faults.append(PictureError(f"{path}: no such file or folder"))
    return found, faults


def _below(root: Path, faults: list[PictureError]) -> list[Path]:
    def tell(error: OSError) -> None:
        faults.append(PictureError(f"{error.filename}: cannot be read: {error.strerror}"))

    top = root.resolve()
    found, entered = [], {top}
    for folder, folders, names in os.walk(root, onerror=tell, followlinks=True):
        inner = [Path(folder, name) for name in sorted(folders) if not name.startswith(".")]
        folders[:] = [path.name for path in inner if _enter(path, top, entered)]
        found += [path for path in (Path(folder, name) for name in names) if _is_picture(path)]
    return sorted(found)


def _enter(folder: Path, top: Path, entered: set[Path]) -> bool:
    """Tell whether to go into a folder: once, and where it lies rather than by a link."""
    real = folder.resolve()
    if real in entered or (folder.is_symlink() and real.is_relative_to(top)):
        return False
    entered.add(real)
    return True


def _is_picture(path: Path) -> bool:
    is_named_so = path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    return is_named_so and not is_drawing(path)


def choose_drawings(sources: Iterable[Source], folder: Path) -> dict[Path, Path]:
    """Choose a file for each picture's drawing: the tree of the sources again, as PNG files.

    A drawing takes the place of an earlier drawing at most, never that of another file or of one
    of the sources; the same command chooses the same names again.

    Args:
        sources: In the order in which they get their names; the first keeps its own.
        folder: Where the drawings go.

    Returns:
        By path of the source.
    """
    sources = tuple(sources)
    taken = {_identity(source.path) for source in sources}
    chosen: dict[Path, Path] = {}
    for source in sources:
        if source.path not in chosen:
            wanted = folder / source.below.with_suffix(".png")
            free = (path for path in _numbered(wanted) if _identity(path) not in taken)
            chosen[source.path] = next(path for path in free if not _is_foreign(path))
            taken.add(_identity(chosen[source.path]))
    return chosen


def _numbered(path: Path) -> Iterator[Path]:
    yield path
    for number in itertools.count(2):
        yield path.with_stem(f"{path.stem}-{number}")


def _identity(path: Path) -> str:
    """Return what two names of one file have in common, on disks that ignore case, too."""
    return str(path.resolve()).casefold()


def _is_foreign(path: Path) -> bool:
    return path.exists() and not is_drawing(path)
