"""Messages in the forms that vendors of cameras document, round a picture of a test."""

from __future__ import annotations

import base64
import json
from typing import Any

import cv2
import numpy as np

from plate_cameras.message_forms import FORMS, MessageForm
from plate_cameras.sources.sent.message_reader import CameraMessage, read_message

BOUNDARY = "boundary"
TIME = "2026-11-27T10:15:30+03:00"
TIME_S = 1795763730.0


def picture(grey: int = 90, size_wh: tuple[int, int] = (320, 240), ending: str = ".jpg") -> bytes:
    """Return a file of noise round a grey, so that larger pictures have larger files."""
    noise = np.random.default_rng(grey).integers(-40, 40, (*size_wh[::-1], 3))
    file = cv2.imencode(ending, np.clip(grey + noise, 0, 255).astype(np.uint8))[1]
    return file.tobytes()


CROP = picture(60, (64, 16))


def form(*parts: tuple[str, str, bytes]) -> tuple[str, bytes]:
    """Return the content type and body of a form of names, content types and contents."""
    lines = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        f"Content-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        + content
        + b"\r\n"
        for name, kind, content in parts
    ]
    return f"multipart/form-data; boundary={BOUNDARY}", b"".join(lines) + f"--{BOUNDARY}--".encode()


def as_json(document: dict[str, Any] | list[Any]) -> tuple[str, bytes]:
    return "application/json", json.dumps(document).encode()


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


def hikvision(
    plate: str, content: bytes, event: str = "ANPR", time: str = TIME
) -> tuple[str, bytes]:
    document = f"""<?xml version="1.0" encoding="UTF-8"?>
<EventNotificationAlert version="2.0" xmlns="http://www.isapi.org/ver20/XMLSchema">
<ipAddress>10.0.0.5</ipAddress><channelID>1</channelID><dateTime>{time}</dateTime>
<activePostCount>1</activePostCount><eventType>{event}</eventType>
<eventState>active</eventState><ANPR><country>17</country><licensePlate>{plate}</licensePlate>
<line>1</line><direction>forward</direction><confidenceLevel>97</confidenceLevel>
<pictureInfoList><pictureInfo><fileName>licensePlatePicture.jpg</fileName></pictureInfo>
<pictureInfo><fileName>detectionPicture.jpg</fileName></pictureInfo></pictureInfoList></ANPR>
</EventNotificationAlert>"""
    return form(
        ("anpr.xml", "text/xml", document.encode()),
        ("licensePlatePicture.jpg", "image/jpeg", CROP),
        ("detectionPicture.jpg", "image/jpeg", content),
        ("featurePicture.jpg", "image/jpeg", b""),
    )


def dahua(plate: str, content: bytes) -> tuple[str, bytes]:
    plate_values = {"PlateNumber": plate, "Confidence": 97, "BoundingBox": [1, 2, 3, 4]}
    times = {"AccurateTime": "2026-11-27 10:15:30.000", "SnapTime": "2026-11-27 10:15:30"}
    return as_json(
        {
            "Picture": {
                "CutoutPic": {"PicName": "crop.jpg", "Content": encode(CROP)},
                "NormalPic": {"PicName": "whole.jpg", "Content": encode(content)},
                "Plate": plate_values,
                "SnapInfo": {"DeviceID": "cam", **times},
            }
        }
    )


def dahua_snap(plate: str, content: bytes) -> tuple[str, bytes]:
    lines = f"""Events[0].Action=4
Events[0].Code=TrafficJunction
Events[0].UTC={TIME_S:.0f}
Events[0].DetectRegion[0][0]=1170
Events[0].TrafficCar.PlateNumber={plate}
Events[0].Object.Confidence=97"""
    return form(("info", "text/plain", lines.encode()), ("picture", "image/jpeg", content))


def axis(plate: str, content: bytes) -> tuple[str, bytes]:
    values = {
        "packetCounter": "7",
        "datetime": "20261127 101530000+0300",
        "plateUTF8": plate,
        "plateASCII": plate,
        "plateConfidence": "0.97",
        "carState": "new",
        "plateCoordinates": [10, 20, 30, 40],
    }
    return form(
        ("event", "application/json", json.dumps(values).encode()),
        ("plate", "image/jpeg", CROP),
        ("frame", "image/jpeg", content),
    )


def milesight(plate: str, content: bytes) -> tuple[str, bytes]:
    data_url = "data:image/jpeg;base64," + encode(content)
    pictures = {"plate_image": encode(CROP), "full_image": data_url}
    values = {"device": "LPR", "plate": plate, "time": TIME, "confidence": "0.97"}
    return as_json({**values, "direction": "approach", **pictures})


VENDORS = {
    "hikvision": hikvision,
    "dahua": dahua,
    "dahua-snap": dahua_snap,
    "axis": axis,
    "milesight": milesight,
}


def read(kind_and_body: tuple[str, bytes], form_: MessageForm = FORMS["other"]) -> CameraMessage:
    """Return the content of a message that tells of a vehicle."""
    kind, body = kind_and_body
    message = read_message(body, kind, form_)
    assert message is not None
    return message
