"""A server that is full says so at once, and answers everybody whom it has let in."""

import re
import shutil
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from orchestrator import PlateClient
from orchestrator.contract import DETECTOR, MODEL
from orchestrator.errors import Overloaded
from orchestrator.server.local import on_free_ports, prepare
from orchestrator.server.options import ServerOptions
from orchestrator.server.process import Server, lay_out_ours, running
from orchestrator.server.repository import CONFIG
from tests.waiting import until

QUEUE = 64
IN_WORK = 2
GREY = np.full((300, 400, 3), 128, np.uint8)
GATED = Path(__file__).with_name("gated_detector.py")
PENDING = re.compile(rf'^nv_inference_pending_request_count{{model="{MODEL}",.*}} (\S+)$', re.M)


@dataclass(frozen=True)
class Gate:
    """A gate that calls wait at, in a folder of its own."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "open"

    def open(self) -> None:
        self.path.touch()

    def waiting(self) -> int:
        """Calls that have come to the gate."""
        return len(list(self.folder.glob("open.*")))


def gated(options: ServerOptions, target: Path, gate: Gate) -> Path:
    """Lay out our models, the detector replaced by one that waits for the gate."""
    repository = lay_out_ours(options, target)
    path = repository / DETECTOR / CONFIG
    config = text_format.Parse(path.read_text(), ModelConfig())
    config.backend = "python"
    config.instance_group[0].count = IN_WORK
    config.parameters["gate"].string_value = str(gate.path)
    del config.model_warmup[:]
    path.write_text(text_format.MessageToString(config))
    shutil.copy(GATED, repository / DETECTOR / "1" / "model.py")
    return repository


def pending(server: Server) -> int:
    """Calls that wait in the queue of `plate_recognition`, as Triton counts them."""
    with urllib.request.urlopen(server.options.metrics_url, timeout=10) as answer:
        return int(float(PENDING.search(answer.read().decode())[1]))


def call(url: str) -> int | str:
    """Return the number of plates, or what was said instead."""
    with PlateClient(url, timeout_s=60) as client:
        try:
            return len(client.recognize(GREY, request_id="crowd"))
        except Overloaded as error:
            return str(error)


@contextmanager
def filled(server: Server, gate: Gate, urls: list[str]) -> Iterator[list[Future[int | str]]]:
    """Hold as many calls as can be in work and as the queue has room for."""
    with ThreadPoolExecutor(IN_WORK + QUEUE) as pool:
        try:
            calls = [pool.submit(call, url) for url in urls]
            until(lambda: gate.waiting() == IN_WORK, f"{IN_WORK} calls in work")
            calls += [pool.submit(call, url) for url in islice(cycle(urls), QUEUE)]
            until(lambda: pending(server) == QUEUE, f"{QUEUE} calls in the queue")
            yield calls
        finally:
            gate.open()


def test_who_finds_the_queue_full_is_refused_at_once_and_all_others_are_answered(
    tmp_path: Path,
) -> None:
    gate = Gate(tmp_path)
    options = replace(on_free_ports(prepare(ServerOptions(device="cpu"))), pictures=IN_WORK)
    urls = [options.http_url, f"grpc://{options.grpc_url}"]
    with running(options, partial(gated, gate=gate)) as server:
        with filled(server, gate, urls) as calls:
            refused = [call(url) for url in urls]
            assert refused == ["Exceeds maximum queue size (request crowd)"] * 2
            assert not any(one.done() for one in calls)
            gate.open()
            assert [one.result() for one in calls] == [0] * (IN_WORK + QUEUE)
        assert [call(url) for url in urls] == [0, 0]
