import json

from orchestrator.formats.transliteration import to_cyrillic
from plate_cameras.passes import to_document, to_rfc3339
from tests.plate_cameras.samples import make_event

CYRILLIC = to_cyrillic("A123BC77")


def test_an_event_is_a_document_for_receivers() -> None:
    document = to_document(make_event("agreed"))
    assert (document["type"], document["timestamp"]) == ("pass.agreed", "2027-01-15T08:00:01.500Z")
    data = document["data"]
    assert (data["id"], data["text"], data["text_native"]) == ("pass-1", "A123BC77", CYRILLIC)
    assert (data["region_code"], data["region"]) == ("77", "Moscow")
    assert data["best"] == {
        "time": "2027-01-15T08:00:00.000Z",
        "xyxy": [100, 200, 180, 220],
        "width": 1280,
        "height": 720,
    }
    assert json.loads(json.dumps(document)) == document


def test_an_unread_pass_has_empty_texts() -> None:
    data = to_document(make_event(text=""))["data"]
    assert (data["text"], data["text_native"], data["region"]) == ("", "", "")


def test_times_have_milliseconds() -> None:
    assert to_rfc3339(0.0015) == "1970-01-01T00:00:00.001Z"
