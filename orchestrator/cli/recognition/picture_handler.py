"""Handles one picture: reads it, sends it to the server, and makes drawings and crops."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from orchestrator.cli.recognition.output_pictures import OutputFile, OutputPictures
from orchestrator.cli.recognition.picture_source import Source
from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.cli.recognition.watchlist import Watchlist
from orchestrator.errors import PictureError, PlateError, RequestError
from orchestrator.formats.transliteration import in_cyrillic
from orchestrator.host.retry import WORTH_ANOTHER_TRY, may_be_too_large
from orchestrator.imaging.heic import is_heic, to_jpeg

if TYPE_CHECKING:
    from orchestrator.client import PlateClient

INPUT = "encoded_image: "
REQUEST = re.compile(r" \(request \w+\)$")


@dataclass(frozen=True)
class FinishedPicture:
    """A finished picture.

    Attributes:
        entry: Its result.
        outputs: Files to write.
        drawing_error: Reason why there are none, though they were wanted.
        is_away: No server answered, or the server was too busy.
    """

    entry: Entry
    outputs: tuple[OutputFile, ...] = ()
    drawing_error: str = ""
    is_away: bool = False


@dataclass(frozen=True)
class Recognizer:
    """Recognises pictures; any number of threads may call it.

    Attributes:
        client: Calls the server.
        parameters: Parameters of each call.
        maker: Makes drawings and crops.
        watchlist: Plates to flag; None for no watchlist.
        min_score: Least text score of a plate that is shown.
        is_cyrillic: Texts are shown in Cyrillic letters.
    """

    client: PlateClient
    parameters: Mapping[str, Any] = field(default_factory=dict)
    maker: OutputPictures = field(default_factory=OutputPictures)
    watchlist: Watchlist | None = None
    min_score: float = 0.0
    is_cyrillic: bool = False

    def recognize(self, source: Source) -> FinishedPicture:
        """Return the result of a picture; an error with it is part of the result."""
        file = b""
        try:
            file = _readable(source.read())
            answer = self.client.recognize(file, **self.parameters)
            sure_plates = tuple(plate for plate in answer if plate.text_score >= self.min_score)
            plates = replace(answer, plates=sure_plates)
        except PlateError as error:
            if may_be_too_large(error, len(file)) and self.client.is_ready():
                error = PictureError(f"{error}. Does a proxy allow {len(file)} bytes?")
            entry = Entry(source.name, error=_plain(error))
            return FinishedPicture(entry, is_away=isinstance(error, WORTH_ANOTHER_TRY))
        hits = tuple(map(self.watchlist.find, plates)) if self.watchlist else None
        latin = Entry(source.name, plates, hits=hits)
        entry = replace(latin, plates=in_cyrillic(plates)) if self.is_cyrillic else latin
        try:
            return FinishedPicture(entry, self.maker.make(file, latin, source.below))
        except PictureError as error:  # the server can read it, but OpenCV here cannot
            return FinishedPicture(entry, drawing_error=_plain(error))


def _readable(file: bytes) -> bytes:
    """Return a HEIC file as JPEG, for the server and for drawings; other files as they are."""
    return to_jpeg(file) if is_heic(file) else file


def _plain(error: PlateError) -> str:
    """Return an error text for people: for an unusable picture, without the request id."""
    text = str(error)
    return REQUEST.sub("", text).removeprefix(INPUT) if isinstance(error, RequestError) else text
