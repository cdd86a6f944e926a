"""The client for asyncio over both protocols, without a real server."""

import asyncio
import inspect
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import grpc
import numpy as np
import pytest

from orchestrator.client import PlateClient
from orchestrator.client.aio import AsyncPlateClient
from orchestrator.client.requests import RequestOptions
from orchestrator.errors import (
    ExtraError,
    ParameterError,
    PictureError,
    RequestError,
    ServerError,
    SettingsError,
)
from orchestrator.plates import Plates
from tests.client.peers import (
    NO_PLATES,
    NO_PLATES_OVER_GRPC,
    address_of,
    answer_all,
    listening,
    listening_over_grpc,
    receive,
    say_nothing,
)

PICTURE = b"a picture"
SMALL = np.zeros((2, 4, 3), np.uint8)
LARGE = np.zeros((2000, 4000, 3), np.uint8)
Use = Callable[[AsyncPlateClient], Awaitable[object]]


def use(url: str, using: Use, **options: object) -> object:
    """Run a coroutine with a client in an event loop of its own."""

    async def run() -> object:
        async with AsyncPlateClient(url, **{"timeout_s": 20, **options}) as client:
            return await using(client)

    return asyncio.run(run())


def recognize(client: AsyncPlateClient) -> Awaitable[Plates]:
    return client.recognize(PICTURE)


@contextmanager
def refusing() -> Iterator[str]:
    """Return an address at which no server listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = address_of(listener)
    yield address


def test_it_has_the_methods_and_parameters_of_the_other_client() -> None:
    ours, theirs = (
        [name for name in dir(client) if not name.startswith("_")]
        for client in (AsyncPlateClient, PlateClient)
    )
    assert ours == theirs
    assert inspect.signature(AsyncPlateClient) == inspect.signature(PlateClient)
    parameters = inspect.signature(PlateClient.recognize).parameters.keys()
    assert parameters - {"self", "picture", "request_id"} == RequestOptions.__annotations__.keys()


def test_many_tasks_call_at_the_same_time() -> None:
    all_there = threading.Barrier(20, timeout=20)

    def answer(connection: socket.socket) -> None:
        while receive(connection):
            all_there.wait()
            connection.sendall(NO_PLATES)

    async def gather(client: AsyncPlateClient) -> list[Plates]:
        return await asyncio.gather(*(recognize(client) for _ in range(20)))

    with listening(answer) as url:
        assert use(url, gather) == [Plates()] * 20


def test_an_unknown_word_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"wanted some of detection_threshold, .*, got colour"):
        use("localhost:1", lambda client: client.recognize(PICTURE, colour="red"))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        pytest.param({"url": "ftp://somewhere"}, ServerError, id="url"),
        pytest.param({"key": "with blanks"}, SettingsError, id="key"),
        pytest.param({"timeout_s": 0}, SettingsError, id="timeout"),
        pytest.param({"retries": -1}, SettingsError, id="retries"),
    ],
)
def test_wrong_arguments_are_errors_without_an_event_loop(options: dict, kind: type) -> None:
    with pytest.raises(kind):
        AsyncPlateClient(**options)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_refused_connection_is_an_error_at_once(scheme: str) -> None:
    with refusing() as address:
        url = f"{scheme}://{address}"
        assert not use(url, lambda client: client.is_ready())
        with pytest.raises(
            ServerError, match=r"cannot connect to .*: connection refused. Is the server running"
        ):
            use(url, recognize)


@pytest.mark.parametrize("scheme", ["http", "grpc"])
@pytest.mark.parametrize("picture", [PICTURE, LARGE], ids=["file", "array"])
def test_a_call_ends_in_time_where_the_server_says_nothing(scheme: str, picture: object) -> None:
    with listening(say_nothing) as address, pytest.raises(ServerError, match=r"within 0.2 s, got"):
        use(f"{scheme}://{address}", lambda client: client.recognize(picture), timeout_s=0.2)


def test_a_connection_closed_between_calls_is_replaced() -> None:
    """The server closes the connection during the second call, which is sent again on a new one."""
    connections: list[int] = []

    def answer(connection: socket.socket) -> None:
        connections.append(1)
        receive(connection)
        connection.sendall(NO_PLATES)
        receive(connection) if len(connections) == 1 else answer_all(connection)

    async def twice(client: AsyncPlateClient) -> list[Plates]:
        return [await recognize(client), await recognize(client)]

    with listening(answer) as url:
        assert use(url, twice) == [Plates()] * 2
    assert len(connections) == 2


class Waits:
    """Holds the first call until its client disconnects, and answers all others."""

    def __init__(self) -> None:
        self.is_called, self.hung_up = threading.Event(), threading.Event()

    def over_http(self, connection: socket.socket) -> None:
        while receive(connection):
            if self.is_called.is_set():
                connection.sendall(NO_PLATES)
            else:
                self.is_called.set()
                say_nothing(connection)
                self.hung_up.set()

    def over_grpc(self, _: bytes, context: grpc.ServicerContext) -> bytes:
        if not self.is_called.is_set():
            context.add_callback(self.hung_up.set)
            self.is_called.set()
            self.hung_up.wait(20)
        return NO_PLATES_OVER_GRPC


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_task_that_is_cancelled_ends_its_call_and_no_other(scheme: str) -> None:
    """A cancelled call reaches the server at once, and the open client can make the next call."""
    waits = Waits()

    async def cancel_and_call(client: AsyncPlateClient) -> Plates:
        task = asyncio.ensure_future(recognize(client))
        assert await asyncio.to_thread(waits.is_called.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(waits.hung_up.wait, 20)
        return await recognize(client)

    servers = {
        "http": lambda: listening(waits.over_http),
        "grpc": lambda: listening_over_grpc(waits.over_grpc),
    }
    with servers[scheme]() as url:
        assert use(url, cancel_and_call) == Plates()


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_closing_a_client_ends_its_calls(scheme: str) -> None:
    is_called = threading.Event()

    def notice(connection: socket.socket) -> None:
        connection.recv(1)
        is_called.set()
        say_nothing(connection)

    async def close_while_calling(client: AsyncPlateClient) -> None:
        task = asyncio.ensure_future(recognize(client))
        await asyncio.to_thread(is_called.wait, 20)
        await asyncio.sleep(0.05)
        await client.close()
        await task

    with listening(notice) as address, pytest.raises(RequestError, match="the client is closed"):
        use(f"{scheme}://{address}", close_while_calling)


@pytest.mark.parametrize("url", ["localhost:1", "grpc://localhost:1"])
@pytest.mark.parametrize("method", ["is_ready", "server_settings"])
def test_a_closed_client_raises_an_error(url: str, method: str) -> None:
    async def run() -> None:
        client = AsyncPlateClient(url)
        await client.close()
        await getattr(client, method)()

    with pytest.raises(RequestError, match=f"{url}: the client is closed"):
        asyncio.run(run())


def test_a_call_in_another_event_loop_is_an_error() -> None:
    async def call_elsewhere(client: AsyncPlateClient) -> None:
        await recognize(client)
        await asyncio.to_thread(asyncio.run, recognize_later(client))

    async def recognize_later(client: AsyncPlateClient) -> Plates:
        return await recognize(client)

    with listening(answer_all) as url, pytest.raises(RequestError, match="another event loop"):
        use(url, call_elsewhere)


def test_without_aiohttp_http_is_an_error_and_grpc_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(ExtraError, match="aiohttp, which is not installed: pip install aiohttp, "):
        AsyncPlateClient("localhost:8000")
    AsyncPlateClient("grpc://localhost:8001")


def test_a_picture_that_fails_does_not_affect_others() -> None:
    async def recognize_all(client: AsyncPlateClient) -> list[object]:
        pictures = [PICTURE, b"", "nowhere.jpg", PICTURE]
        return [type(result.outcome) async for result in client.recognize_many(pictures)]

    with listening(answer_all) as url:
        kinds = [Plates, PictureError, PictureError, Plates]
        assert use(url, recognize_all) == kinds
        with PlateClient(url) as client:
            results = list(client.recognize_many([PICTURE, b"", "nowhere.jpg", PICTURE]))
    assert [type(result.outcome) for result in results] == kinds
    assert [result.picture for result in results] == [PICTURE, b"", "nowhere.jpg", PICTURE]


@pytest.mark.parametrize("client", [PlateClient, AsyncPlateClient])
@pytest.mark.parametrize(
    ("arguments", "options", "kind"),
    [
        pytest.param(["car.jpg"], {}, PictureError, id="path"),
        pytest.param([PICTURE], {}, PictureError, id="file"),
        pytest.param([LARGE], {}, PictureError, id="array"),
        pytest.param([[PICTURE]], {"in_flight": 0}, ParameterError, id="none-in-flight"),
        pytest.param([[PICTURE]], {"roi": 7}, ParameterError, id="roi"),
        pytest.param([[PICTURE]], {"outputs": ["colours"]}, ParameterError, id="outputs"),
    ],
)
def test_wrong_arguments_are_errors_before_the_first_result(
    client: type, arguments: list, options: dict, kind: type
) -> None:
    with pytest.raises(kind):
        client("localhost:1").recognize_many(*arguments, **options)
