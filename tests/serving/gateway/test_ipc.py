"""Events that the gateway receives while it runs."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.ipc import listen
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from orchestrator.serving.protocol.gateway_events import (
    Event,
    TritonMoved,
    WorkerDied,
    WorkersReplaced,
    event_from_json,
    event_to_json,
)

DIED = WorkerDied("stn", "SIGSEGV", ("gate-7#1-2",), is_last=True)
ONE_OF_MANY = WorkerDied("stn", "SIGSEGV")
RENEWED = WorkersReplaced("stn")
MOVED = TritonMoved("127.0.0.1:1", "127.0.0.1:2", "http://127.0.0.1:3/metrics")


@pytest.mark.parametrize("event", [DIED, RENEWED, MOVED])
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    assert event_from_json(event_to_json(event)) == event


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"event": "eaten"}', '{"event": "moved"}'])
def test_what_is_no_event_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="wanted"):
        event_from_json(text)


def hear(*lines: str, calls: int = 1, processes: int = 1) -> DataPlane:
    """Return a service after it has received some lines over a pipe, which is then closed."""
    options = GatewayOptions(
        limits=Limits(calls=calls), processes=processes, audit=Path(os.devnull)
    )

    async def story() -> DataPlane:
        service = DataPlane(options)
        reading, writing = os.pipe()
        os.write(writing, "".join(f"{line}\n" for line in lines).encode())
        os.close(writing)
        await listen(service, reading)
        os.close(reading)
        await asyncio.sleep(0)
        await service.close()
        return service

    return asyncio.run(story())


def test_a_death_is_counted_once_for_all_processes_and_a_line_that_says_nothing_is_told(
    caplog,
) -> None:
    """How long a worker hung is no label."""
    deaths = DIED, WorkerDied("stn", "SIGSEGV", is_counted=False), WorkerDied("stn", "hung for 2 s")
    page = hear("{", *map(event_to_json, deaths)).metrics.render()
    for how in (b"SIGSEGV", b"hung"):
        assert b'plates_gateway_worker_deaths_total{how="%s",model="stn"} 1.0' % how in page
    assert "wanted JSON of one" in caplog.text


async def waits_for_another(service: DataPlane) -> bool:
    """Tell whether a call waits while another is with Triton."""
    first = await service.triton.throttle.acquire()
    try:
        second = await asyncio.wait_for(service.triton.throttle.acquire(), 0.02)
    except asyncio.TimeoutError:
        return True
    finally:
        if first is not None:
            first.release()
    if second is not None:
        second.release()
    return False


@pytest.mark.parametrize(
    ("events", "sizes", "is_held_back"),
    [
        pytest.param([DIED], {}, True, id="dead"),
        pytest.param([DIED, RENEWED], {}, False, id="renewed"),
        pytest.param([DIED, WorkersReplaced("yolo")], {}, True, id="another one renewed"),
        pytest.param([DIED, MOVED], {}, False, id="another Triton"),
        pytest.param([ONE_OF_MANY], {"calls": 16}, False, id="four of one process"),
        pytest.param([ONE_OF_MANY], {"calls": 16, "processes": 4}, True, id="one of each of four"),
    ],
)
def test_calls_are_held_back_from_a_death_until_there_is_another_worker(
    events: list[Event], sizes: dict[str, int], *, is_held_back: bool
) -> None:
    service = hear(*map(event_to_json, events), **sizes)
    assert asyncio.run(waits_for_another(service)) is is_held_back


def test_a_pipe_is_closed_with_the_task_that_reads_it() -> None:
    """An open one is a warning, and with PYTHONWARNINGS=error the process hung at its end."""

    async def story(reading: int) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(listen(None, reading), 0.05)
        await asyncio.sleep(0)

    reading, writing = os.pipe()
    asyncio.run(story(reading))
    gc.collect()
    os.close(reading)
    os.close(writing)


def test_a_file_in_place_of_a_pipe_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "options").write_text(event_to_json(DIED))
    with (tmp_path / "options").open("rb") as file:
        asyncio.run(listen(None, file.fileno()))
