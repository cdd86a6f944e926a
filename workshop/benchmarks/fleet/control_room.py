"""A real control room on the store of the simulation, in processes of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.serving.gateway.launcher import start
from orchestrator.serving.gateway.options import Address, GatewayOptions
from orchestrator.serving.supervisor.ports import free_ports
from plate_cameras.configuration import Camera


@dataclass(frozen=True)
class RunningRoom:
    """A control room that answers.

    Attributes:
        url: Its address, without a slash at the end.
        pids: Its processes.
    """

    url: str
    pids: tuple[int, ...]


@contextmanager
def run_room(folder: Path, url: str | None, cameras: Sequence[Camera]) -> Iterator[RunningRoom]:
    """Run a control room until the end of the block. There is no Triton behind it."""
    file = folder / "CAMERAS.toml"
    file.write_text("\n".join(_configure(url, cameras)) + "\n", encoding="utf-8")
    port, triton = free_ports(2)
    options = GatewayOptions(
        http=Address("127.0.0.1", port),
        grpc=None,
        metrics=None,
        triton_http=f"http://127.0.0.1:{triton}",
        triton_grpc=f"127.0.0.1:{triton}",
        triton_metrics=f"http://127.0.0.1:{triton}/metrics",
        cameras=file,
        audit=folder / "audit.jsonl",
    )
    gateway = start(options)
    try:
        pids = tuple(worker.process.pid for worker in gateway.workers)
        yield RunningRoom(f"http://127.0.0.1:{port}", pids)
    finally:
        gateway.stop()


def _configure(url: str | None, cameras: Sequence[Camera]) -> Iterator[str]:
    yield "[store]"
    yield "keep_frames = false"
    if url:
        yield f'url = "{url}"'
    for one in cameras:
        yield from ("[[cameras]]", f'name = "{one.name}"', f'url = "{one.url}"')
