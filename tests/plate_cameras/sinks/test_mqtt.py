"""MQTT through a real broker: mosquitto, which is started and killed here."""

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
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
GATE = Camera("gate", "", zones=(Zone("entry", ((0, 0), (1, 0), (1, 1))),))
needs_broker = pytest.mark.skipif(BROKER is None, reason="wanted mosquitto; apt install mosquitto")


@contextmanager
def run_broker(folder: Path, port: int, settings: str = "allow_anonymous true") -> Iterator[None]:
    file = folder / "mosquitto.conf"
    file.write_text(f"listener {port} 127.0.0.1\n{settings}\n")
    assert BROKER
    with subprocess.Popen([BROKER, "-c", file], stderr=subprocess.DEVNULL) as broker:
        try:
            until(lambda: _listens(port), "a broker")
            yield
        finally:
            broker.kill()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@asynccontextmanager
async def subscribed(
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


@needs_broker
@pytest.mark.server
async def test_a_camera_is_announced_and_its_event_published(
    tmp_path: Path, free_port: int
) -> None:
    delivery = make_delivery(1)
    with run_broker(tmp_path, free_port):
        async with subscribed(free_port) as receive:
            receiver = make(free_port)
            await receiver.send(delivery)
            topic, device, _ = await receive()
            assert (topic, device["state_topic"]) == (
                "homeassistant/device/plates_gate/config",
                "plates/gate/pass",
            )
            assert (await receive())[:2] == ("plates/status", "online")
            assert (await receive())[:2] == (
                "plates/gate/pass",
                {"id": delivery.id, **delivery.document},
            )
            assert (await receive())[0] == "plates/gate/zones/entry/pass"
            await receiver.close()
            assert (await receive())[:2] == ("plates/status", "offline")
        async with subscribed(free_port) as receive:
            late = {(await receive())[0], (await receive())[0]}
            assert late == {"homeassistant/device/plates_gate/config", "plates/status"}


@needs_broker
@pytest.mark.server
async def test_a_test_of_the_sink_says_nothing_of_cameras(tmp_path: Path, free_port: int) -> None:
    with run_broker(tmp_path, free_port):
        watching = make(free_port)
        await watching.idle()
        async with subscribed(free_port) as receive:
            retained = {(await receive())[0], (await receive())[0]}
            assert retained == {"homeassistant/device/plates_gate/config", "plates/status"}
            await try_sink(Sink("home", "mqtt", f"mqtt://127.0.0.1:{free_port}"))
            assert (await receive())[0] == "plates/test/pass"
            await watching.send(make_delivery(1))
            assert (await receive())[0] == "plates/gate/pass"
        await watching.close()


@needs_broker
@pytest.mark.server
def test_a_zone_and_a_list_that_are_new_are_announced_once(tmp_path: Path, free_port: int) -> None:
    delivery = make_delivery(1)
    data = delivery.document["data"] | {"zones": ["drawn"], "lists": [{"list": "stolen"}]}
    news = replace(delivery, document=delivery.document | {"data": data})

    async def run() -> list[str]:
        async with subscribed(free_port) as receive:
            receiver = make(free_port)
            await receiver.send(news)
            await receiver.send(news)
            await receiver.close()
            return [(await receive())[0] for _ in range(11)]

    with run_broker(tmp_path, free_port):
        topics = asyncio.run(run())
    published = ["plates/gate/pass", "plates/gate/zones/drawn/pass", "plates/lists/stolen/pass"]
    gate, stolen = "homeassistant/device/plates_gate/config", "plates-list_stolen"
    announced = [gate, f"homeassistant/device/{stolen}/config"]
    status = ["plates/status"]
    assert topics == [gate, *status, *announced, *published, *published, *status]


@needs_broker
@pytest.mark.server
async def test_a_broker_that_was_away_gets_the_event_at_the_next_attempt(
    tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "TIMEOUT_S", 1.0)
    receiver = make(free_port, discovery="no")
    with pytest.raises(DeliveryError, match="cannot publish"):
        await receiver.send(make_delivery(1))
    with run_broker(tmp_path, free_port):
        await receiver.send(make_delivery(1))
    with pytest.raises(DeliveryError, match="cannot publish"):
        await receiver.send(make_delivery(2))
    with run_broker(tmp_path, free_port):
        async with subscribed(free_port) as receive:
            await receiver.send(make_delivery(2))
            assert (await receive())[:2] == ("plates/status", "online")
            assert (await receive())[1]["id"] == "pass-2-closed"
        await receiver.close()


@needs_broker
@pytest.mark.server
async def test_an_idle_sink_announces_the_cameras_to_a_broker_that_was_started_again(
    tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "TIMEOUT_S", 1.0)
    monkeypatch.setattr(mqtt, "CHECK_S", 0.0)
    receiver = make(free_port)
    await receiver.idle()
    for _ in range(2):
        with run_broker(tmp_path, free_port):
            await receiver.idle()
            await receiver.idle()
            async with subscribed(free_port) as receive:
                topics = {(await receive())[0] for _ in range(2)}
            assert topics == {"homeassistant/device/plates_gate/config", "plates/status"}
    await receiver.close()


@needs_broker
@pytest.mark.server
async def test_a_user_and_a_password_are_sent(tmp_path: Path, free_port: int) -> None:
    words = tmp_path / "words"
    maker = shutil.which("mosquitto_passwd")
    assert maker
    subprocess.run([maker, "-b", "-c", words, "plates", "word"], check=True, capture_output=True)
    settings = f"allow_anonymous false\npassword_file {words}\nuser root"
    with run_broker(tmp_path, free_port, settings):
        with pytest.raises(DeliveryError, match="cannot publish") as caught:
            await make(free_port, user="plates", password="wrong").send(make_delivery(1))
        assert "wrong" not in str(caught.value)
        receiver = make(free_port, user="plates", password="env:MQTT_WORD")
        await receiver.send(make_delivery(1))
        await receiver.close()


def test_an_address_that_is_no_broker_is_told() -> None:
    with pytest.raises(SettingsError, match="wanted an mqtt:// or mqtts://"):
        MqttReceiver(Sink("home", "mqtt", "tcp://broker"), (), {})


def test_a_password_must_be_set() -> None:
    with pytest.raises(SettingsError, match="home: password: wanted the environment variable NO"):
        make(1, password="env:NO")


@pytest.mark.parametrize(
    ("camera", "slug"),
    [
        pytest.param("gate-1", "gate-1", id="as-it-is"),
        pytest.param("a/b+#", "a_b_", id="wildcards"),
        pytest.param("\N{CYRILLIC CAPITAL LETTER DE}1", "_1", id="cyrillic"),
    ],
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
