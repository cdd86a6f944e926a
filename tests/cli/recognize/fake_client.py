"""A client without a server, and the plates that it finds."""

import json

from orchestrator.errors import RequestError, ServerError
from orchestrator.plates import Plate, PlateRegion, Plates
from tests.cli.no_server import NoServer

PLATE = Plate(
    xyxy=(10.4, 20.6, 110.0, 45.0),
    detection_score=0.9,
    text="A001AA77",
    text_score=0.98,
    raw_text="A001AA77",
    format="ru_car",
    region=PlateRegion("77", "Moscow"),
)
UNREAD = Plate((500.0, 300.0, 600.0, 345.0), 0.6, "", 0.4, "M456OP199", (), (("M456OP19", 0.4),))
NOISE = (UNREAD, Plate((1, 2, 3, 4)))
JUNK, AWAY = b"junk", b"away"


class FakeClient(NoServer):
    """Answers with the same plates for every file, except one that is no picture."""

    plates, note = (PLATE,), ""
    calls: list[dict[str, object]] = []  # noqa: RUF012 - of one test

    def recognize(self, picture: bytes, **parameters: object) -> Plates:
        self.calls.append(parameters)
        if picture == JUNK:
            raise RequestError("encoded_image: wanted a picture, got junk (request 1f2e)")
        if picture == AWAY:
            raise ServerError("somewhere:1: wanted an answer, got none")
        return Plates(self.plates, self.note)


def names_in(lines: str) -> list[str]:
    """Return the names of the pictures in lines of JSON."""
    return [json.loads(line)["picture"] for line in lines.splitlines()]
