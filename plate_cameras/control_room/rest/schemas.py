"""Answers of the REST API of the control room."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from orchestrator.serving.gateway.extension import Model

Text = Annotated[str, Field(description="Latin look-alikes", examples=["A123BC77"])]
Time = Annotated[
    str,
    Field(
        description="RFC 3339, in UTC",
        examples=["2026-11-25T08:00:00.000Z"],
        json_schema_extra={"format": "date-time"},
    ),
]
Score = Annotated[float, Field(ge=0, le=1, description="In [0, 1]", examples=[0.97])]
Xyxy = Annotated[
    tuple[float, ...],
    Field(min_length=4, max_length=4, description="x0, y0, x1, y1 in pixels of the frame"),
]
Point = Annotated[tuple[float, ...], Field(min_length=2, max_length=2)]


class PassCandidate(Model):
    """A possible text of a pass."""

    text: Text
    score: Score


class Crossing(Model):
    """A line that the plate has crossed."""

    line: str = Field(description="Name of the line", examples=["barrier"])
    side: str = Field(description="`left` or `right`, seen from the line's start")
    time: Time


class BestFrame(Model):
    """The frame that shows the pass best."""

    time: Time
    xyxy: Xyxy
    width: int = Field(description="Width of the frame, pixels", examples=[1920])
    height: int = Field(description="Height of the frame, pixels", examples=[1080])
    part: Xyxy | None = Field(description="Part that the kept picture shows; null for the whole")
    blur: str = Field(
        description="What is unrecognisable in it: `surroundings`, `plates` or `none`",
        examples=["surroundings"],
    )


class ListHit(Model):
    """An entry of a list that the pass matched."""

    list: str = Field(description="Name of the list", examples=["residents"])
    text: str = Field(description="Text of the entry", examples=["A123BC77"])
    note: str = Field(description="Note of the entry", examples=["flat 12"])
    edits: int = Field(description="Characters that differ", examples=[0])


class PassFields(Model):
    """A vehicle that passed a camera."""

    id: str = Field(description="Ids sort by their time of creation")
    camera: str = Field(description="Name of the camera", examples=["gate"])
    progress: str = Field(description="`agreed` or `closed`", examples=["closed"])
    first_seen: Time
    last_seen: Time
    clock: str = Field(description="`stream`, `wall` or `file`", examples=["stream"])
    text: Text
    text_native: str = Field(description="`text` in the letters on the plate")
    text_score: Score
    format: str = Field(description='Plate format of `text`, "" for none', examples=["ru_car"])
    region_code: str = Field(description="Code of the region", examples=["77"])
    region: str = Field(description="Name of the region", examples=["Moscow"])
    candidates: tuple[PassCandidate, ...] = Field(description="Best texts, best first")
    direction: str = Field(description='`towards`, `away` or ""', examples=["towards"])
    crossings: tuple[Crossing, ...] = Field(description="Lines in their order")
    speed_widths_s: float = Field(description="Plate widths a second", examples=[0.5])
    speed_kmh: float | None = Field(
        description="Speed on the road, km/h, estimated; null if not known", examples=[42.0]
    )
    speed_error_kmh: float | None = Field(
        description="Error that nine in ten speeds do not exceed, km/h", examples=[4.0]
    )
    zones: tuple[str, ...] = Field(description="Zones in which it was seen", examples=[["entry"]])
    frames: int = Field(description="Number of readings", examples=[14])
    best: BestFrame
    lists: tuple[ListHit, ...] = Field(description="Entries that it matched when it was stored")
    crop: str | None = Field(description="Path of the plate's picture; null without one")
    frame: str | None = Field(
        description="Path of the picture of the vehicle or frame; null without one"
    )
    stored: Time


class PassesPage(Model):
    """Passes, the newest first."""

    passes: tuple[PassFields, ...] = Field(description="The passes")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class PassReading(Model):
    """The plate in one frame."""

    time: Time
    text: str = Field(description='Text of this frame, "" if it is not sure')
    score: Score
    candidates: tuple[PassCandidate, ...] = Field(description="Best texts, best first")
    xyxy: Xyxy
    sharpness: float = Field(description="In [0, 1]", examples=[0.7])
    weight: float = Field(description="Share in the text of the pass", examples=[0.12])
    source: str = Field(description='`camera` if the camera itself has read it, else ""')
    is_best: bool = Field(description="Whether it is the best frame")


class Opening(Model):
    """A request to open a gate."""

    id: str = Field(description="Its id")
    gate: str = Field(description="Name of the gate", examples=["barrier"])
    camera: str = Field(description="Name of the camera", examples=["gate"])
    pass_id: str = Field(description="Id of the pass")
    text: Text
    list: str = Field(description="Name of the list", examples=["residents"])
    entry_text: str = Field(description="Text of the entry", examples=["A123BC77"])
    outcome: str = Field(
        description="`opened`, `failed`, `refused`, or `unknown`: it may have opened, as the relay "
        "gave no clear answer. A person's command is `requested` first",
        examples=["opened"],
    )
    person: str = Field(description='Who opened it; "" if it was for a list', examples=["anna"])
    remark: str = Field(description="The person's reason", examples=["courier"])
    reason: str = Field(description="A sentence about it")
    reason_code: str = Field(
        description='Code of the sentence; "" if it has none', examples=["hold_off"]
    )
    reason_values: dict[str, str] = Field(
        description="Values in the sentence", examples=[{"ago_s": "3", "hold_off_s": "60"}]
    )
    time: Time
    delay_s: float | None = Field(
        description="Seconds since the first readable frame; null if nothing opened", examples=[0.4]
    )


class PassWithReadings(PassFields):
    """A pass with everything that is stored of it."""

    readings: tuple[PassReading, ...] = Field(description="All readings in their order")
    openings: tuple[Opening, ...] = Field(description="Gates that it has opened")
    neighbours: tuple[PassFields, ...] = Field(
        description="Other passes of the plate, the newest first, if `neighbours` asked for them"
    )


class HourCount(Model):
    """The passes of one hour."""

    day: str = Field(examples=["2026-11-25"], description="The day")
    hour: int = Field(ge=0, le=23, description="The hour", examples=[13])
    count: int = Field(description="Their number", examples=[4])


class CameraCount(Model):
    """The passes of one camera."""

    camera: str = Field(description="Name of the camera", examples=["gate"])
    count: int = Field(description="Their number", examples=[9])


class PassCounts(Model):
    """Counts of passes; hours and cameras without passes are left out."""

    by: str = Field(description="`hour` or `camera`", examples=["hour"])
    counts: tuple[HourCount | CameraCount, ...] = Field(description="The counts in their order")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class Deletion(Model):
    """The counts of a deletion."""

    passes: int = Field(description="Passes with all that belongs to them")
    pictures: int = Field(description="Pictures that no other pass shows")
    spooled: int = Field(description="Events that waited for the database")
    entries: int = Field(description="Entries of lists")


class ZoneFields(Model):
    """A polygon of a camera's frame."""

    name: str = Field(description="Its name", examples=["entry"])
    polygon: tuple[Point, ...] = Field(description="Points as parts of width and height")


class LineFields(Model):
    """A line across a camera's frame."""

    name: str = Field(description="Its name", examples=["barrier"])
    points: tuple[Point, ...] = Field(description="Start and end")


class CameraAnswer(Model):
    """A camera and its state."""

    name: str = Field(description="Its name", examples=["gate"])
    group: str = Field(description='Its group, "" for none')
    state: str = Field(description="State of its stream, or `unknown`", examples=["playing"])
    watcher: str = Field(description='The process that watches it, "" if none has told')
    updated: str | None = Field(description="Time of the state, RFC 3339, or null")
    frames: int = Field(description="Frames that the service has answered")
    plates: int = Field(description="Plates in these frames")
    passes: int = Field(description="Passes that are closed")
    dropped: int = Field(description="Frames that were not sent")
    dropped_share: float = Field(description="Their share")
    delay_s: float = Field(description="Age of the newest frame, seconds")
    reconnects: int = Field(description="How often the stream was opened again")
    error: str = Field(description='The last error, "" if all is well')
    lists: tuple[str, ...] = Field(description="Lists that are looked up")
    zones: tuple[ZoneFields, ...] = Field(description="Its zones")
    lines: tuple[LineFields, ...] = Field(description="Its lines")
    masks: tuple[ZoneFields, ...] = Field(description="Its masks")
    areas_from: str = Field(description="`file`, or `page` if they were drawn")
    still: str | None = Field(description="Path of the last picture, or null")
    still_blur: str = Field("", description="What is unrecognisable in it, see `blur` of the file")
    still_time: str | None = Field(description="Time of the last picture, RFC 3339, or null")


class CamerasAnswer(Model):
    """The cameras, in the order of their file."""

    cameras: tuple[CameraAnswer, ...] = Field(description="The cameras")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class Ingested(Model):
    """The outcome of a camera's message."""

    result: str = Field(
        description="`accepted`: its picture will be read; `repeated`: it had come before; "
        "`ignored`: it tells of no vehicle, as a heartbeat does",
        examples=["accepted"],
    )


class OpeningsPage(Model):
    """Openings, the newest first."""

    openings: tuple[Opening, ...] = Field(description="The openings")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')


class AuditEntry(Model):
    """A search, export or deletion."""

    time: Time
    who: str = Field(description="Who has asked", examples=["key:gate"])
    why: str = Field(description="The reason", examples=["case 7"])
    kind: str = Field(description="Kind of the call", examples=["search"])
    query: dict[str, Any] = Field(description="What was asked for")
    count: int = Field(description="Number of passes", examples=[3])


class AuditPage(Model):
    """Entries of the audit, the newest first."""

    searches: tuple[AuditEntry, ...] = Field(description="The entries")
    cursor: str = Field(description='Value of `cursor` for the next page; "" after the last')
