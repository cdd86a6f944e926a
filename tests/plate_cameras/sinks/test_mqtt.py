"""MQTT through a real broker: mosquitto, which is started and killed here."""

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from orchestrator.errors import SettingsError
from plate_cameras.configuration import Camera, Sink, Zone
from plate_cameras.sinks import mqtt
from plate_cameras.sinks.home_assistant import (
    describe_camera,
    describe_list,
    pass_topic,
    to_slug,
    topics_of,
)
from plate_cameras.sinks.mqtt import MqttReceiver
from plate_cameras.sinks.receiver import DeliveryError
from plate_cameras.sinks.trial import try_sink
from tests.plate_cameras.sinks.receivers import make_delivery
from tests.waiting import until

BROKER = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin")
GATE_CONFIG = "homeassistant/device/plates_gate/config"
GATE = Camera("gate", "", zones=(Zone("entry", ((0, 0), (1, 0), (1, 1))),))


Broker = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def broker(tmp_path: Path, free_port: int) -> Broker:
    """Return a function that runs a broker on the free port, with more settings."""
    if BROKER is None:
        pytest.skip("wanted mosquitto; apt install mosquitto")
    file = tmp_path / "mosquitto.conf"

    @contextmanager
    def run(settings: str = "allow_anonymous true") -> Iterator[None]:
        file.write_text(f"listener {free_port} 127.0.0.1\n{settings}\n")
        with subprocess.Popen([BROKER, "-c", file], stderr=subprocess.DEVNULL) as process:
            try:
                until(lambda: _listens(free_port), "a broker")
                yield
            finally:
                process.kill()

    return run


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@asynccontextmanager
async def subscribe(
    port: int, **options: Any
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, Any]]]:
    """Subscribe to all topics; yield a function that returns the next message."""
    async with aiomqtt.Client("127.0.0.1", port, **options) as client:
        await client.subscribe("#", qos=1)
        messages = aiter(client.messages)

        async def receive() -> tuple[str, Any, bool]:
            message = await asyncio.wait_for(anext(messages), 20)
            payload = message.payload.decode()  # type: ignore[union-attr]
            content = json.loads(payload) if payload.startswith("{") else payload
            return message.topic.value, content, message.retain

        yield receive


def make(port: int, **options: str) -> MqttReceiver:
    sink = Sink("home", "mqtt", f"mqtt://127.0.0.1:{port}", options=options)
    return MqttReceiver(sink, [GATE], {"MQTT_WORD": "word"})


@pytest.mark.server
async def test_a_camera_is_announced_and_its_event_published(
    broker: Broker, free_port: int
) -> None:
    delivery = make_delivery(1)
    with broker():
        async with subscribe(free_port) as receive:
            receiver = make(free_port)
            await receiver.send(delivery)
            topic, device, _ = await receive()
            assert (topic, device["state_topic"]) == (GATE_CONFIG, "plates/gate/pass")
            assert (await receive())[:2] == ("plates/status", "online")
            document = {"id": delivery.id, **delivery.document}
            assert (await receive())[:2] == ("plates/gate/pass", document)
            assert (await receive())[0] == "plates/gate/zones/entry/pass"
            await receiver.close()
            assert (await receive())[:2] == ("plates/status", "offline")
        async with subscribe(free_port) as receive:
            assert {(await receive())[0] for _ in range(2)} == {GATE_CONFIG, "plates/status"}


@pytest.mark.server
async def test_a_test_of_the_sink_says_nothing_of_cameras(broker: Broker, free_port: int) -> None:
    with broker():
        watching = make(free_port)
        await watching.idle()
        async with subscribe(free_port) as receive:
            assert {(await receive())[0] for _ in range(2)} == {GATE_CONFIG, "plates/status"}
            await try_sink(Sink("home", "mqtt", f"mqtt://127.0.0.1:{free_port}"))
            assert (await receive())[0] == "plates/test/pass"
            await watching.send(make_delivery(1))
            assert (await receive())[0] == "plates/gate/pass"
        await watching.close()


ZONE_AND_LIST = {"zones": ["drawn"], "lists": [{"list": "stolen"}]}
CAMERA = {"camera": "yard", "zones": []}


@pytest.mark.server
@pytest.mark.parametrize(
    ("news", "devices", "events"),
    [
        pytest.param(
            ZONE_AND_LIST,
            [GATE_CONFIG, "homeassistant/device/plates-list_stolen/config"],
            ["plates/gate/pass", "plates/gate/zones/drawn/pass", "plates/lists/stolen/pass"],
            id="zone and list",
        ),
        pytest.param(
            CAMERA, ["homeassistant/device/plates_yard/config"], ["plates/yard/pass"], id="camera"
        ),
    ],
)
async def test_what_is_new_is_announced_once(
    broker: Broker, free_port: int, news: dict[str, Any], devices: list[str], events: list[str]
) -> None:
    delivery = make_delivery(1)
    data = delivery.document["data"] | news
    news_delivery = replace(delivery, document=delivery.document | {"data": data})
    expected_topics = [GATE_CONFIG, "plates/status", *devices, *events, *events, "plates/status"]
    with broker():
        async with subscribe(free_port) as receive:
            receiver = make(free_port)
            await receiver.send(news_delivery)
            await receiver.send(news_delivery)
            await receiver.close()
            assert [(await receive())[0] for _ in expected_topics] == expected_topics


@pytest.mark.server
async def test_a_broker_that_was_away_gets_the_event_at_the_next_attempt(
    broker: Broker, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "TIMEOUT_S", 1.0)
    receiver = make(free_port, discovery="no")
    for number in (1, 2):
        with pytest.raises(DeliveryError, match="cannot publish"):
            await receiver.send(make_delivery(number))
        with broker():
            async with subscribe(free_port) as receive:
                await receiver.send(make_delivery(number))
                assert (await receive())[:2] == ("plates/status", "online")
                assert (await receive())[1]["id"] == f"pass-{number}-closed"
    await receiver.close()


@pytest.mark.server
async def test_an_idle_sink_announces_the_cameras_to_a_broker_that_was_started_again(
    broker: Broker, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "TIMEOUT_S", 1.0)
    monkeypatch.setattr(mqtt, "CHECK_S", 0.0)
    receiver = make(free_port)
    await receiver.idle()
    for _ in range(2):
        with broker():
            await receiver.idle()
            await receiver.idle()
            async with subscribe(free_port) as receive:
                assert {(await receive())[0] for _ in range(2)} == {GATE_CONFIG, "plates/status"}
    await receiver.close()


@pytest.mark.server
async def test_a_user_and_a_password_are_sent(
    broker: Broker, tmp_path: Path, free_port: int
) -> None:
    words = tmp_path / "words"
    maker = shutil.which("mosquitto_passwd")
    assert maker
    subprocess.run([maker, "-b", "-c", words, "plates", "word"], check=True, capture_output=True)
    with broker(f"allow_anonymous false\npassword_file {words}\nuser root"):
        with pytest.raises(DeliveryError, match="cannot publish") as caught:
            await make(free_port, user="plates", password="wrong").send(make_delivery(1))
        assert "wrong" not in str(caught.value)
        receiver = make(free_port, user="plates", password="env:MQTT_WORD")
        await receiver.send(make_delivery(1))
        await receiver.close()


def test_a_password_must_be_set() -> None:
    with pytest.raises(SettingsError, match="home: password: wanted the environment variable NO"):
        make(1, password="env:NO")


@pytest.mark.parametrize(
    ("camera", "slug"), [("gate-1", "gate-1"), ("a/b+#", "a_b_"), ("\u04141", "_1")]
)
def test_names_are_safe_in_topics(camera: str, slug: str) -> None:
    assert to_slug(camera).startswith(slug)
    assert (to_slug(camera) == slug) == (camera == slug)
    assert pass_topic(camera).count("/") == 2


def test_different_things_have_different_devices_and_topics() -> None:
    devices = [
        describe_camera("a b"),
        describe_camera("a/b"),
        describe_camera("list_a"),
        describe_list("a"),
    ]
    assert len({device["device"]["identifiers"][0] for device in devices}) == 4
    topics = [*topics_of({"camera": "lists", "zones": ["pass"], "lists": [{"list": "pass"}]})]
    assert len({*topics, pass_topic("pass")}) == 4


def test_a_sensor_of_a_zone_has_its_own_topic() -> None:
    components = describe_camera("gate", ["entry", "r 2"])["components"]
    assert components["plate"]["value_template"] == "{{ value_json.data.text }}"
    assert "state_topic" not in components["plate"]
    zone = components["zone_entry_plate"]
    assert (zone["name"], zone["state_topic"]) == (
        "entry: last plate",
        "plates/gate/zones/entry/pass",
    )
    assert len({sensor["unique_id"] for sensor in components.values()}) == len(components) == 8
