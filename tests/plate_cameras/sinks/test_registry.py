"""Types of receivers: those of the package, and those of other distributions."""

import asyncio
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import pytest

from orchestrator.errors import PlateError, SettingsError
from plate_cameras.configuration import Camera, Configuration, Sink
from plate_cameras.sinks.json_lines import JsonLinesReceiver
from plate_cameras.sinks.mqtt import MqttReceiver
from plate_cameras.sinks.receiver import DeliveryError
from plate_cameras.sinks.registry import make_receiver, make_receivers
from plate_cameras.sinks.webhook import WebhookReceiver
from tests.plate_cameras.sinks.receivers import make_delivery

RECEIVED: list[str] = []


class ForeignSink:
    """A sink of another distribution."""

    def __init__(self, sink: Sink) -> None:
        if sink.url == "lp99":
            raise KeyError("lp99")
        self.url = sink.url
        self.is_closed = False

    async def __call__(self, document: Mapping[str, Any]) -> None:
        if self.url == "broken":
            raise ValueError("no paper")
        if self.url == "busy":
            raise DeliveryError("A123BC77 is\nprinted", retry_after_s=float("nan"))
        RECEIVED.append(document["id"])

    async def close(self) -> None:
        RECEIVED.append("closed")


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    points = (
        metadata.EntryPoint("printer", f"{__name__}:Printer", "plates.sinks"),
        metadata.EntryPoint("lost", "no_such_module:Printer", "plates.sinks"),
    )
    entry_points = metadata.EntryPoints(points)
    monkeypatch.setattr(metadata, "entry_points", entry_points.select)
    monkeypatch.setattr(metadata.EntryPoint, "load", _load)
    RECEIVED.clear()


def _load(entry_point: metadata.EntryPoint) -> Any:
    if entry_point.name == "lost":
        raise ModuleNotFoundError("No module named 'no_such_module'")
    return ForeignSink


def test_every_built_in_type_has_a_receiver() -> None:
    sinks = (
        Sink("erp", "webhook", "https://erp.example"),
        Sink("home", "mqtt", "mqtt://broker"),
        Sink("log", "jsonl", "passes.jsonl"),
    )
    receivers = make_receivers(Configuration((Camera("gate", ""),), sinks=sinks), {})
    assert [type(receiver.receiver) for receiver in receivers.values()] == [
        WebhookReceiver,
        MqttReceiver,
        JsonLinesReceiver,
    ]


def test_a_type_may_come_from_another_distribution() -> None:
    receiver = make_receiver(Sink("paper", "printer", "lp0"), (), {})
    asyncio.run(receiver.send(make_delivery(1)))
    asyncio.run(receiver.close())
    assert RECEIVED == ["pass-1-closed", "closed"]


@pytest.mark.parametrize(
    ("url", "message", "kind"),
    [
        pytest.param("broken", "ValueError: no paper", "ValueError", id="another exception"),
        pytest.param("busy", "A123BC77 is printed", "DeliveryError", id="a line, and no label"),
    ],
)
def test_an_exception_of_it_means_that_the_event_was_not_delivered(
    url: str, message: str, kind: str
) -> None:
    receiver = make_receiver(Sink("paper", "printer", url), (), {})
    with pytest.raises(DeliveryError, match=message) as caught:
        asyncio.run(receiver.send(make_delivery(1)))
    assert (caught.value.kind, caught.value.retry_after_s) == (kind, 0)


@pytest.mark.parametrize(
    ("kind", "url", "message"),
    [
        ("webhook", "http://[::1/", "sink paper: "),
        ("webhook", "http://erp.example:99999/", "sink paper: "),
        ("mqtt", "mqtt://[::1", "sink paper: "),
        ("mqtt", "mqtt://broker:port", "sink paper: "),
        ("mqtt", "tcp://broker", "wanted an mqtt:// or mqtts://"),
        ("printer", "lp99", "sink paper: type printer: KeyError: 'lp99'"),
        ("fax", "", "wanted type webhook, mqtt, jsonl, notify, lost, pri"),
        ("lost", "", "lost cannot be loaded: No module named"),
    ],
)
def test_what_makes_no_receiver_is_told(kind: str, url: str, message: str) -> None:
    with pytest.raises(PlateError, match=message) as caught:
        make_receiver(Sink("paper", kind, url), (), {})
    assert isinstance(caught.value, SettingsError) or kind == "lost"
