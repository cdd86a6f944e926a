"""`PlateClient` and `AsyncPlateClient` with what the control room adds to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from typing import TYPE_CHECKING, TypeVar

from orchestrator.client.aio import AsyncPlateClient
from orchestrator.client.base import BaseClient
from orchestrator.client.channels import Stream
from orchestrator.client.sync import PlateClient
from orchestrator.client.transport import AsyncTransport, Transport
from orchestrator.errors import PlateError
from orchestrator.host.blocking import run_blocking, settle
from plate_cameras.client.event_feed import Connector, EventFeed, check_stream
from plate_cameras.client.gate_openings import (
    OpeningRecord,
    command_gate,
    query_opening,
    read_opening,
)
from plate_cameras.client.list_entries import (
    EntryRecord,
    ListRecord,
    check_done,
    erase_entry,
    query_entries,
    query_lists,
    read_entry,
    write_entry,
)
from plate_cameras.client.live_events import EventSelection, LiveEvent
from plate_cameras.client.pages import PagedQuery, RecordPage
from plate_cameras.client.pass_search import PassRecord, query_passes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from plate_cameras.client.list_entries import EntryOptions
    from plate_cameras.client.pass_search import SearchOptions

RecordT = TypeVar("RecordT")
TransportT = TypeVar("TransportT", bound="Transport | AsyncTransport")

ASK_EVERY_S, MAX_QUESTIONS = 0.5, 80
"""Pause between questions about a command, and their largest number: it is settled in 40 s."""


class ControlRoomCalls(BaseClient[TransportT]):
    """The calls of both clients, as coroutines."""

    async def _read_page(self, query: PagedQuery[RecordT], cursor: str) -> RecordPage[RecordT]:
        return await self._call(query.to_request(cursor), query.read)

    async def _open_gate(self, name: str, reason: str, pass_id: str) -> OpeningRecord:
        """Open a gate, and wait for the outcome."""
        opening = await self._call(command_gate(name, reason, pass_id), read_opening)
        for _ in range(MAX_QUESTIONS):
            if opening.is_settled:
                break
            await settle(self._sleep(ASK_EVERY_S))
            opening = await self._call(query_opening(opening.id), read_opening)
        return opening

    def _follow(self, camera: str | Sequence[str], after: int | None) -> EventFeed:
        """Return a feed of events, which this client connects."""
        selection = EventSelection.of(camera, after)
        self._check_open()
        connector = Connector(self._open_events, self._translating, self._sleep, self._note_loss)
        return EventFeed(connector, selection)

    async def _open_events(self, selection: EventSelection) -> Stream:
        return await self._open_stream(selection.to_request(), check_stream)

    def _note_loss(self, error: PlateError) -> None:
        self._check_open()
        self._note_retry(error)


class CamerasClient(ControlRoomCalls[Transport], PlateClient):
    """A `PlateClient` that also knows passes, events, lists and gates of a service with cameras.

    Example:
        ```python
        with CamerasClient("site.example:8000", key="...") as client:
            for record in client.passes(text="A123*", camera="gate"):
                print(record.first_seen, record.text)
        ```

    The service must know cameras (`plates serve --cameras`), and the client's address must be one
    of HTTP. The further methods raise:

    - ParameterError: A value cannot be sent.
    - RequestError: The service rejects the request or the key, or the client is closed.
    - Overloaded: The service or its database has no capacity now.
    - ServerError: The server gives no answer in time, or no valid answer.
    """

    def passes(self, **search: Unpack[SearchOptions]) -> Generator[PassRecord, None, None]:
        """Find stored passes, the newest first. Further pages are requested in between.

        Args:
            search: Conditions; `plate_cameras.client.pass_search.SearchOptions` describes each.
        """
        return self._records(query_passes(search))

    def events(
        self, *, camera: str | Sequence[str] = (), after: int | None = None
    ) -> Generator[LiveEvent, None, None]:
        """Follow passes and cameras as they change, until the caller stops or an error comes.

        A lost connection is made again, with pauses of up to 30 s, and continues where it was. The
        server keeps the events of the last hour. An event may come twice. Only the first connection
        raises Overloaded, or a ServerError because of a missing server.

        Args:
            camera: Names of cameras; empty for all that the key may see.
            after: The `number` of the last event of an earlier run. Later events come first.
        """
        feed = self._follow(camera, after)

        def begin() -> Generator[LiveEvent, None, None]:
            try:
                while True:
                    yield run_blocking(feed.next())
            finally:
                run_blocking(feed.close())

        return begin()

    def lists(self) -> Generator[ListRecord, None, None]:
        """Return the lists of plates, by name."""
        return self._records(query_lists())

    def entries(
        self, name: str, *, part: str = "", reason: str = ""
    ) -> Generator[EntryRecord, None, None]:
        """Return the entries of a list, by text.

        Args:
            name: Name of the list.
            part: Part of the text or of the note; empty for all entries.
            reason: The reason, which the service's audit records.
        """
        return self._records(query_entries(name, part, reason))

    def put_entry(self, name: str, text: str, **entry: Unpack[EntryOptions]) -> EntryRecord:
        """Add an entry to a list, or replace the one with the same text.

        Args:
            name: Name of the list.
            text: Text of the plate.
            entry: `note`, shown with a hit. `valid_from`, the first time at which the entry
                counts, and `valid_until`, at which it ends; a date counts to its end, in the
                service's local time. `edits`, the characters by which a text may differ, 0 to 2.
                `accept_doubtful`, True for a text that is on no Russian plate. `reason`, which the
                service's audit records.

        Returns:
            The entry as it was stored.
        """
        return run_blocking(self._call(write_entry(name, text, **entry), read_entry))

    def delete_entry(self, name: str, text: str, *, reason: str = "") -> None:
        """Remove an entry from a list. A RequestError says that there is none.

        A request that got no answer may have removed it. The retry then finds none.
        """
        run_blocking(self._call(erase_entry(name, text, reason), check_done))

    def open_gate(self, name: str, *, reason: str, pass_id: str = "") -> OpeningRecord:
        """Open a gate now, and wait for the outcome, seldom longer than a few seconds.

        Retries repeat the same command, which the gate carries out once.

        Args:
            name: Name of the gate.
            reason: The reason, which the records of the gate and the service's audit have.
            pass_id: Id of the pass for whose vehicle it opens; empty for none.

        Returns:
            The record, whose `outcome` is `opened` if the gate has opened.
        """
        return run_blocking(self._open_gate(name, reason, pass_id))

    def _records(self, query: PagedQuery[RecordT]) -> Generator[RecordT, None, None]:
        self._check_open()

        def begin() -> Generator[RecordT, None, None]:
            page = run_blocking(self._read_page(query, ""))
            yield from page.records
            while page.cursor:
                page = run_blocking(self._read_page(query, page.cursor))
                yield from page.records

        return begin()


class AsyncCamerasClient(ControlRoomCalls[AsyncTransport | Transport], AsyncPlateClient):
    """An `AsyncPlateClient` with the further methods of `CamerasClient`."""

    def passes(self, **search: Unpack[SearchOptions]) -> AsyncGenerator[PassRecord, None]:
        """Find stored passes, like `CamerasClient.passes`, for `async for`."""
        return self._records(query_passes(search))

    def events(
        self, *, camera: str | Sequence[str] = (), after: int | None = None
    ) -> AsyncGenerator[LiveEvent, None]:
        """Follow passes and cameras, like `CamerasClient.events`, for `async for`."""
        feed = self._follow(camera, after)

        async def begin() -> AsyncGenerator[LiveEvent, None]:
            try:
                while True:
                    yield await feed.next()
            finally:
                await feed.close()

        return begin()

    def lists(self) -> AsyncGenerator[ListRecord, None]:
        """Return the lists of plates, by name, for `async for`."""
        return self._records(query_lists())

    def entries(
        self, name: str, *, part: str = "", reason: str = ""
    ) -> AsyncGenerator[EntryRecord, None]:
        """Return the entries of a list, like `CamerasClient.entries`, for `async for`."""
        return self._records(query_entries(name, part, reason))

    async def put_entry(self, name: str, text: str, **entry: Unpack[EntryOptions]) -> EntryRecord:
        """Add an entry to a list or replace one, like `CamerasClient.put_entry`."""
        return await self._call(write_entry(name, text, **entry), read_entry)

    async def delete_entry(self, name: str, text: str, *, reason: str = "") -> None:
        """Remove an entry from a list, like `CamerasClient.delete_entry`."""
        await self._call(erase_entry(name, text, reason), check_done)

    async def open_gate(self, name: str, *, reason: str, pass_id: str = "") -> OpeningRecord:
        """Open a gate now, like `CamerasClient.open_gate`."""
        return await self._open_gate(name, reason, pass_id)

    def _records(self, query: PagedQuery[RecordT]) -> AsyncGenerator[RecordT, None]:
        self._check_open()

        async def begin() -> AsyncGenerator[RecordT, None]:
            page = await self._read_page(query, "")
            while True:
                for record in page.records:
                    yield record
                if not page.cursor:
                    return
                page = await self._read_page(query, page.cursor)

        return begin()
