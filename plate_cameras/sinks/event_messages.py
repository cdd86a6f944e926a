"""An event as a message for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from orchestrator.host.text_lines import to_line

LANGUAGES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "unread": "plate not read",
        "towards": "towards the camera",
        "away": "away from the camera",
        "zones": "zones",
        "score": "score",
        "test": "Test",
        "no_picture": "The picture cannot be read now.",
        "large_picture": "The pictures are too large for this service.",
    },
    "ru": {
        "unread": "номер не прочитан",
        "towards": "к камере",
        "away": "от камеры",
        "zones": "зоны",
        "score": "уверенность",
        "test": "Проверка",
        "no_picture": "Снимок сейчас нельзя прочитать.",
        "large_picture": "Снимки слишком велики для этого сервиса.",
    },
}


def to_message(document: Mapping[str, Any], language: str) -> tuple[str, list[str]]:
    """Return the title and the lines of a message.

    Args:
        document: The event, see `plate_cameras.passes`. Notes of lists come from people.
        language: A language of `LANGUAGES`.
    """
    words, data = LANGUAGES[language], document["data"]
    hits = data.get("lists", [])
    plate = data["text_native"] or data["text"] or words["unread"]
    title = ", ".join([plate, *(hit["list"] for hit in hits)])
    facts = [data["camera"], *([] if data["clock"] == "file" else [_to_local(data["last_seen"])])]
    moves = [words[data["direction"]]] if data["direction"] else []
    if data["zones"]:
        moves.append(f"{words['zones']}: {', '.join(data['zones'])}")
    lines = [", ".join(facts), *(f"{hit['list']}: {hit['note']}" for hit in hits if hit["note"])]
    lines += [", ".join(moves)] if moves else []
    if document["type"] == "test":
        title = f"{words['test']}: {title}"
    elif data["text"]:
        lines.append(f"{words['score']}: {data['text_score']:.0%}")
    return _clean(title), [_clean(line) for line in lines]


def _to_local(rfc3339: str) -> str:
    at = datetime.fromisoformat(rfc3339.replace("Z", "+00:00")).astimezone()
    return at.replace(tzinfo=None).isoformat(" ", timespec="seconds")


def _clean(text: str) -> str:
    """Return a text as one line that mentions nobody: services take `@everyone` as a call."""
    return to_line(text).replace("@", "(at)").replace("<", "(").replace(">", ")")
