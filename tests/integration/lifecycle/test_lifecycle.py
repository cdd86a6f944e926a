"""Explicit model control under load."""

import re
import resource
import secrets
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import tritonclient.grpc
from tritonclient.utils import InferenceServerException

from orchestrator import PlateClient
from orchestrator.contract import SHM
from orchestrator.errors import PlateError
from orchestrator.networks.weights import WEIGHTS, list_sums
from orchestrator.serving.supervisor.local_server import on_free_ports
from orchestrator.serving.supervisor.models.new_version import NewVersion, add_version
from orchestrator.serving.supervisor.options import ADMIN_HEADER, ADMIN_METADATA, ServerOptions
from orchestrator.serving.supervisor.triton_server import Server
from orchestrator.serving.supervisor.triton_start import run_server
from tests.integration.load import CallerLoad
from tests.samples import PLATES, STREET
from tests.waiting import until
from workshop.benchmarks.processes import find_workers

KEY = f"barrier-{secrets.token_hex(8)}"


@pytest.fixture(scope="module")
def operated_server(tmp_path_factory) -> Iterator[Server]:
    """A server of a repository from `plates export --out`; its key is in the environment.

    The repository's path is relative, not ASCII, and has characters that separate lists.
    """
    out = Path("модели a;b")
    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(tmp_path_factory.mktemp("folder"))
        command = [PLATES, "export", "--out", out, "--pictures", "1"]
        child = subprocess.run(command, capture_output=True, text=True, check=True)
        assert child.stdout.strip() == str(out)
        options = ServerOptions(repository=out, explicit=True)
        environment.setenv("PLATES_ADMIN_KEY", KEY)
        with run_server(replace(on_free_ports(options), admin_key=KEY)) as running:
            yield running


@pytest.fixture(scope="module")
def mute_weights(tmp_path_factory) -> Path:
    """Weights of a reader that reads no text in any plate."""
    folder = tmp_path_factory.mktemp("weights")
    state = torch.load(WEIGHTS / "lprnet.pth", weights_only=True)
    last = max(
        (name for name in state if name.endswith("bias")), key=lambda bias: list(state).index(bias)
    )
    state[last][-1] += 1000.0
    torch.save(state, folder / "lprnet.pth")
    shutil.copy(WEIGHTS / "formats.toml", folder)
    list_sums(folder)
    return folder


def post(server: Server, path: str, key: str = KEY) -> int:
    """Send a request to Triton's repository API; return the HTTP status."""
    url = f"http://{server.options.http_url}/v2/repository/models/{path}"
    request = urllib.request.Request(url, data=b"{}", headers={ADMIN_HEADER: key} if key else {})
    try:
        return urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code


def test_versions_are_switched_without_a_failed_call(operated_server, mute_weights) -> None:
    options = operated_server.options
    config = options.repository / "lprnet" / "config.pbtxt"
    policy = config.read_text()
    with CallerLoad(options.http_url) as load:
        load.wait_for("TO05577")
        new = add_version(options.repository, NewVersion("lprnet", mute_weights))
        assert post(operated_server, "lprnet/load") == 200
        load.wait_for("")  # the new version answers
        config.write_text(re.sub(r"latest \{[^}]*\}", "specific { versions: 1 }", policy))
        assert post(operated_server, "lprnet/load") == 200
        load.wait_for("TO05577")  # the old one, while the new one lies there still
        config.write_text(policy)
        assert post(operated_server, "lprnet/load") == 200
        load.wait_for("")
        shutil.rmtree(new)
        assert post(operated_server, "lprnet/load") == 200
        load.wait_for("TO05577")
    assert load.errors == []
    assert set(load.texts) == {"", "TO05577"}
    assert operated_server.monitor()


def test_an_unloaded_model_is_told_and_can_be_loaded_again(operated_server) -> None:
    with PlateClient(operated_server.options.http_url, retries=3) as client:
        assert post(operated_server, "stn/unload") == 200
        with pytest.raises(PlateError, match="stn"):
            client.recognize(STREET)
        assert operated_server.monitor()
        assert post(operated_server, "stn/load") == 200
        assert client.recognize(STREET).texts[0] == "TO05577"


@pytest.mark.parametrize("key", ["", "wrong"])
def test_without_the_key_nobody_unloads(operated_server, key: str) -> None:
    assert post(operated_server, "lprnet/unload", key) == 403


def test_the_key_is_asked_for_over_grpc_too(operated_server) -> None:
    with tritonclient.grpc.InferenceServerClient(operated_server.options.grpc_url) as client:
        with pytest.raises(InferenceServerException, match=r"restricted|expecting"):
            client.unload_model("lprnet")
        client.load_model("lprnet", headers={ADMIN_METADATA: KEY})


def test_the_key_is_on_no_command_line_and_in_no_environment(operated_server) -> None:
    files = [
        str(file)
        for name in ("cmdline", "environ")
        for file in Path("/proc").glob(f"[0-9]*/{name}")
        if KEY.encode() in read(file)
    ]
    assert files == []


def read(file: Path) -> bytes:
    """Return a process's public data; empty if it has ended."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_nobody_else_reads_shared_memory(operated_server) -> None:
    assert operated_server.monitor()  # as its supervisor asks
    regions = [*SHM.glob(f"{operated_server.shm_prefix}*")]
    assert regions
    assert {region.stat().st_mode & 0o777 for region in regions} == {0o600}


def test_no_worker_dumps_pictures_when_it_crashes(operated_server) -> None:
    (worker, *_) = find_workers(operated_server.process.pid, "plate_recognition")
    assert resource.prlimit(worker, resource.RLIMIT_CORE) == (1, 1)
    assert resource.prlimit(operated_server.process.pid, resource.RLIMIT_CORE) == (1, 1)


def test_the_kernel_would_kill_a_worker_first_and_the_supervisor_last(operated_server) -> None:
    """In this test the supervisor is this process; those of the gateway are similar.

    A worker that has just been replaced sets its score when it loads its model.
    """

    def in_order() -> bool:
        (worker, *_) = find_workers(operated_server.process.pid, "plate_recognition")
        (network, *_) = find_workers(operated_server.process.pid, "yolo")
        processes = ("self", operated_server.process.pid, worker, network)
        files = [Path(f"/proc/{process}/oom_score_adj") for process in processes]
        ours, triton, first, second = (int(file.read_text()) for file in files)
        return ours < triton < first == second <= 1000

    until(in_order, "higher scores of Triton, and again of its workers", within_s=20)
