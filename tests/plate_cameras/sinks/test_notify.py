"""Messages to people, through the real library to a receiver on this machine."""

from __future__ import annotations

import asyncio
import base64
import builtins
import io
import logging
import mimetypes
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import requests

from orchestrator.errors import ExtraError, SettingsError
from plate_cameras.configuration import Sink
from plate_cameras.sinks import notify
from plate_cameras.sinks.notify import FILE_OPTIONS, SERVICES, NotifyReceiver
from plate_cameras.sinks.outbox import Delivery
from plate_cameras.sinks.receiver import DeliveryError, Undeliverable
from plate_cameras.store.errors import StoreUnavailable
from tests.plate_cameras.sinks.inbox import WORD, Inbox
from tests.plate_cameras.sinks.receivers import make_delivery

PICTURES = (b"the plate", b"the vehicle")


@pytest.fixture
def log() -> Iterator[Callable[[], str]]:
    """The log of the process, down to details. `caplog` also has what reaches no handler."""
    handler, root = logging.StreamHandler(io.StringIO()), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.stream.getvalue
    root.removeHandler(handler)
    root.setLevel(level)


def _require_library() -> None:
    pytest.importorskip("apprise", reason="wanted apprise; make cameras installs it")


def make(url: str, **options: str) -> NotifyReceiver:
    sink = Sink("guard", "notify", "env:URL", options=options)
    return NotifyReceiver(sink, {"URL": url}, lambda _: PICTURES)


def make_hit(note: str = "call 112") -> Delivery:
    delivery = make_delivery(1)
    data = delivery.document["data"] | {"lists": [{"list": "stolen", "note": note}]}
    return replace(delivery, document=delivery.document | {"data": data})


def send(receiver: NotifyReceiver, delivery: Delivery) -> None:
    asyncio.run(receiver.send(delivery))


def test_a_message_tells_of_the_pass_and_has_its_pictures(inbox: Inbox) -> None:
    send(make(inbox.url), make_hit())
    (message,) = inbox.messages
    assert message["title"] == "\u0410123\u0412\u042177, stolen"
    where, *lines = message["message"].splitlines()
    assert where.startswith("gate, 2027-01-15 ")
    assert lines == ["stolen: call 112", "towards the camera, zones: entry", "score: 97%"]
    parts = message["attachments"]
    assert [part["filename"] for part in parts] == ["plate.jpg", "vehicle.jpg"]
    assert {part["mimetype"] for part in parts} == {"image/jpeg"}
    assert [base64.b64decode(part["base64"]) for part in parts] == [*PICTURES]


@pytest.mark.parametrize(("choice", "count"), [("all", 2), ("plate", 1), ("none", 0)])
def test_pictures_can_be_left_out(inbox: Inbox, choice: str, count: int) -> None:
    send(make(inbox.url, pictures=choice), make_hit())
    assert len(inbox.messages[0]["attachments"]) == count


@pytest.mark.parametrize("error", [StoreUnavailable("the database is away"), KeyError("best")])
def test_a_picture_that_cannot_be_read_holds_up_no_message(inbox: Inbox, error: Exception) -> None:
    fail = Mock(side_effect=error)
    sink = Sink("guard", "notify", inbox.url, options={"language": "ru"})
    send(NotifyReceiver(sink, {}, fail), make_hit())
    assert inbox.messages[0]["message"].splitlines()[-1].startswith("Снимок")


def test_a_store_of_pictures_that_hangs_holds_up_no_message(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, pass_ids = threading.Event(), list[str]()

    def hang(pass_id: str) -> Sequence[bytes]:
        pass_ids.append(pass_id)
        may_end.wait(30)
        return PICTURES

    async def send_two() -> None:
        receiver = NotifyReceiver(Sink("guard", "notify", inbox.url), {}, hang)
        for _ in range(2):
            await receiver.send(make_hit())
        may_end.set()

    monkeypatch.setattr(notify, "PICTURES_S", 0.05)
    asyncio.run(send_two())
    for message in inbox.messages:
        assert message["attachments"] == []
        assert "cannot be read now" in message["message"].splitlines()[-1]
    assert len(pass_ids) == 1  # no further thread waits for the store


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [pytest.param(1, "", id="the text fits"), pytest.param(0, "status 413", id="nothing fits")],
)
def test_a_message_that_is_too_large_comes_without_its_pictures(
    inbox: Inbox, limit: int, outcome: str
) -> None:
    inbox.status_of = lambda message: 200 if len(message["attachments"]) < limit else 413
    with pytest.raises(Undeliverable, match=outcome) if outcome else nullcontext():
        send(make(inbox.url), make_hit())
    assert [len(message["attachments"]) for message in inbox.messages] == [2, 0]
    assert "too large" in inbox.messages[1]["message"].splitlines()[-1]


def test_a_note_of_a_list_calls_nobody_and_makes_no_lines(inbox: Inbox) -> None:
    send(make(inbox.url), make_hit("a\n@everyone <!channel>\r\n\x1b[31m"))
    assert "stolen: a (at)everyone (!channel) [31m" in inbox.messages[0]["message"].splitlines()


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param(401, "cannot notify: status 401", id="wrong token"),
        pytest.param(302, "cannot notify: status 302", id="no redirect is followed"),
        pytest.param(0, "cannot notify: no answer", id="away"),
    ],
)
def test_a_failure_is_told_without_the_address(
    inbox: Inbox, log: Callable[[], str], status: int, reason: str
) -> None:
    inbox.status = status
    receiver = make(inbox.url if status else f"json://a:{WORD}@127.0.0.1:1/{WORD}")
    with pytest.raises(DeliveryError) as caught:
        send(receiver, make_hit())
    assert (str(caught.value), caught.value.kind) == (reason, "cannot notify")
    assert "selector" in log()
    assert WORD not in log()
    assert inbox.paths == [f"/{WORD}"] * bool(status)


def test_a_clock_that_is_set_back_holds_up_no_message(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeps_s = list[float]()
    receiver = make(inbox.url)
    send(receiver, make_hit())
    monkeypatch.setattr("time.sleep", sleeps_s.append)
    send(receiver, make_hit())
    assert (len(inbox.messages), sleeps_s) == (2, [])


@pytest.mark.parametrize(
    ("block", "pause_s"),
    [pytest.param(b"x" * 65536, 0.0, id="endless"), pytest.param(b"x", 0.05, id="slow")],
)
def test_an_answer_without_end_is_not_read_for_ever(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch, block: bytes, pause_s: float
) -> None:
    def give() -> Iterator[bytes]:
        for _ in range(2000):
            time.sleep(pause_s)
            sizes.append(len(block))
            yield block

    sizes = list[int]()
    inbox.answers = give()
    receiver = make(inbox.url)
    from plate_cameras.sinks import short_answers

    monkeypatch.setattr(short_answers, "MAX_ANSWER_S", 0.5)
    with pytest.raises(DeliveryError, match="cannot notify: no answer"):
        send(receiver, make_hit())
    assert sum(sizes) < 20 * short_answers.MAX_ANSWER_BYTES
    assert len(sizes) < 2000


def test_a_secret_may_stand_in_a_file(inbox: Inbox, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(f"{inbox.url}\n")
    send(NotifyReceiver(Sink("guard", "notify", f"file:{file}"), {}, lambda _: ()), make_hit())
    assert len(inbox.messages) == 1


@pytest.mark.parametrize(
    "url",
    [
        pytest.param(WORD, id="no address"),
        pytest.param(f"json://{WORD}:port:port/", id="damaged"),
        pytest.param(f"file:///etc/passwd?{WORD}", id="file"),
        pytest.param(f"https://hooks.slack.com/services/{WORD}", id="page of a service"),
        pytest.param(f"slack://{WORD}/?+Template=/etc/hosts", id="in other letters"),
        *(f"discord://1/{WORD}/?{option}=/etc/hosts" for option in sorted(FILE_OPTIONS)),
    ],
)
def test_a_wrong_address_is_told_without_its_text(url: str, log: Callable[[], str]) -> None:
    _require_library()
    with pytest.raises(SettingsError, match=r"^sink guard: url: wanted ") as caught:
        make(url)
    assert WORD not in f"{caught.value} {log()}"


def test_only_known_services_can_be_used() -> None:
    _require_library()
    from apprise.plugins import N_MGR

    schemes = {*N_MGR.schemas()}
    assert schemes >= SERVICES
    assert {"dbus", "syslog", "glib", "macosx", "windows", "form", "matrix"} <= schemes - SERVICES
    for scheme in sorted(schemes - SERVICES):
        with pytest.raises(SettingsError, match="wanted a service of"):
            make(f"{scheme}://localhost/")
    names = {N_MGR[key].service_name for key in SERVICES if N_MGR[key].attachment_support}
    assert names == {N_MGR[key].service_name for key in WITH_PICTURES}, "each must be tried"


TOKEN = "123456789:abcdefg_hijklmnop_abcdefghijklmnopq"
WITH_PICTURES = {
    "bale": f"bale://{TOKEN}/12315544/",
    "discord": "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js/",
    "json": "json://host/path",
    "mailto": "mailto://user:word@host.example?to=guard@host.example",
    "mmost": "mmost://host/3ccdd113474722377935511fc85d3dd4",
    "ntfy": "ntfy://host/topic",
    "pover": "pover://abcdefghijklmnopqrstuvwxyz1234@abcdefghijklmnopqrstuvwxyz1234",
    "signal": "signal://host/+12025550123/+12025550124",
    "slack": "slack://xoxb-1234-1234-abc124/#gate",
    "tgram": f"tgram://{TOKEN}/12315544/",
    "webex": f"webex://{'A' * 80}",
}
"""An address of each service that takes pictures."""


@pytest.mark.parametrize("url", [*WITH_PICTURES.values()], ids=[*WITH_PICTURES])
def test_pictures_are_sent_from_memory(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    _require_library()
    from plate_cameras.sinks.short_answers import ShortAnswers

    mimetypes.init()
    answer = requests.Response()  # of a service that likes everything
    answer.status_code = 200
    answer._content = b'{"ok": true, "status": 1, "result": [], "success": true}'
    adapters, smtp, open_file = set[type](), Mock(), Mock()

    def send_nothing(session: requests.Session, *_: object, **__: object) -> requests.Response:
        adapters.update(type(adapter) for adapter in session.adapters.values())
        return answer

    monkeypatch.setattr(requests.Session, "request", send_nothing)
    monkeypatch.setattr("smtplib.SMTP", smtp)
    monkeypatch.setattr("time.sleep", lambda _: None)  # the pause between two pictures
    receiver = make(url)
    monkeypatch.setattr(builtins, "open", open_file)
    with suppress(DeliveryError):  # some want an answer of their own
        send(receiver, make_hit())
    assert (bool(adapters) or smtp.called, open_file.called) == (True, False)
    assert adapters <= {ShortAnswers}
    requests.get("http://localhost:1/")  # somebody else's, without our limits
    assert requests.adapters.HTTPAdapter in adapters


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("pictures", "some", "pictures: wanted one of all, plate, none"),
        ("language", "de", "language: wanted one of en, ru, got 'de'"),
    ],
)
def test_a_wrong_option_is_told(option: str, value: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make("json://localhost", **{option: value})


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ExtraError, match="sink guard: type notify needs a package that `make ca"):
        make("json://localhost")
