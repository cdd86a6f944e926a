"""A local Triton Inference Server: find it, start it, see that it answers, stop it without a trace.

The server is the real one, carried by the `nvidia-pytriton` wheel, of which nothing else is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.contract import COMPONENTS, MODEL
from orchestrator.errors import ServerError
from orchestrator.triton.repository import REPOSITORY

PROJECT = Path(__file__).resolve().parents[2]
OUR_BACKENDS = Path(__file__).resolve().parent / "backends"
SHM = Path("/dev/shm")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
DEVICES = ("auto", "cpu", "gpu")
NOISE = ("CudaDriverHelper", "NVML", "DCGM")  # what Triton says where there is no GPU

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerOptions:
    """How to start the server.

    Attributes:
        repository: The model repository, with exported models.
        host: Address to listen on.
        http_port: HTTP port.
        grpc_port: gRPC port.
        metrics_port: Port of the Prometheus metrics.
        device: `auto` uses GPUs where there are any, `cpu` hides them, `gpu` insists on one.
        threads: CPU threads of each network; all cores when 0.
        start_timeout_s: How long the models may take to load.
    """

    repository: Path = REPOSITORY
    host: str = "127.0.0.1"
    http_port: int = 8000
    grpc_port: int = 8001
    metrics_port: int = 8002
    device: str = "auto"
    threads: int = 0
    start_timeout_s: float = 180.0

    @property
    def http_url(self) -> str:
        return f"{_reachable(self.host)}:{self.http_port}"

    @property
    def grpc_url(self) -> str:
        return f"{_reachable(self.host)}:{self.grpc_port}"

    @property
    def metrics_url(self) -> str:
        return f"http://{_reachable(self.host)}:{self.metrics_port}/metrics"


def _reachable(host: str) -> str:
    return "localhost" if host in {"0.0.0.0", "127.0.0.1", "::"} else host


@dataclass(frozen=True)
class Distribution:
    """Where the wheel and this Python keep what the server needs.

    Attributes:
        root: The folder with `bin/tritonserver` and `backends/python`.
        stub: The worker program for the running Python version.
        libraries: Folders the dynamic linker must search.
    """

    root: Path
    stub: Path
    libraries: tuple[Path, ...]


def find_distribution() -> Distribution:
    """Locate the embedded server.

    Raises:
        ServerError: The wheel is not installed, has no worker for this Python version, or this
            Python has no shared libpython for the worker to load.
    """
    spec = importlib.util.find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise ServerError("tritonserver: wanted the package nvidia-pytriton, got none installed")
    package = Path(spec.origin).parent
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stubs = package / "tritonserver" / "python_backend_stubs"
    stub = stubs / version / "triton_python_backend_stub"
    if not stub.is_file():
        known = ", ".join(sorted(folder.name for folder in stubs.iterdir()))
        raise ServerError(f"tritonserver: wanted a Python of {known}, got {version}")
    return Distribution(
        root=package / "tritonserver",
        stub=stub,
        libraries=(_libpython_folder(), package.parent / "nvidia_pytriton.libs"),
    )


def _libpython_folder() -> Path:
    folder = Path(sysconfig.get_config_var("LIBDIR") or "")
    name = sysconfig.get_config_var("INSTSONAME") or sysconfig.get_config_var("LDLIBRARY") or ""
    if ".so" not in name:
        name = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    if not (folder / name).is_file():
        raise ServerError(
            f"tritonserver: wanted a Python with a shared libpython, got {sys.executable} without "
            f"{folder / name}; on Debian and Ubuntu install the package {name.split('.so')[0]}, "
            "with pyenv build Python with --enable-shared"
        )
    return folder


def check_ports(options: ServerOptions) -> None:
    """See that the three ports are free.

    Raises:
        ServerError: One of them is in use.
    """
    for name in ("http_port", "grpc_port", "metrics_port"):
        port = getattr(options, name)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((options.host, port))
            except OSError as error:
                flag = name.replace("_", "-")
                raise ServerError(
                    f"{name}: wanted a free port, got {port} ({error.strerror}); "
                    f"choose another with --{flag}"
                ) from error


def check_device(device: str) -> None:
    """See that the device can be had.

    Raises:
        ServerError: Not a known device, or a GPU where there is none.
    """
    if device not in DEVICES:
        raise ServerError(f"device: wanted one of {', '.join(DEVICES)}, got {device}")
    if device == "gpu":
        import torch

        if not torch.cuda.is_available():
            raise ServerError("device: wanted a GPU, got none that PyTorch can use")


@dataclass
class Server:
    """A running server; use `start` or `running`."""

    options: ServerOptions
    process: subprocess.Popen[str]
    runtime: tempfile.TemporaryDirectory[str]
    shm_prefix: str
    log: deque[str] = field(default_factory=lambda: deque(maxlen=200))
    workers: frozenset[int] = frozenset()

    def is_running(self) -> bool:
        return self.process.poll() is None

    def is_whole(self) -> bool:
        """Tell whether the server and every worker it became ready with still run.

        Triton neither restarts a worker that died nor says so in its readiness.
        """
        return self.is_running() and self.workers <= _children(self.process.pid)

    def wait_until_ready(self) -> None:
        """Return when every model answers.

        Raises:
            ServerError: The server ended or did not become ready in time.
        """
        deadline = time.monotonic() + self.options.start_timeout_s
        while not is_ready(self.options):
            if not self.is_running():
                raise ServerError(f"tritonserver ended while starting: {self.reason()}")
            if time.monotonic() > deadline:
                raise ServerError(
                    f"tritonserver: wanted ready within {self.options.start_timeout_s:.0f} s, "
                    f"got no answer; {self.reason()}"
                )
            time.sleep(0.1)
        self.workers = _children(self.process.pid)

    def reason(self) -> str:
        """Return the log line that tells best why the server is in trouble."""
        telling = ("failed to load '", "error: ", "failed to start")
        lines = [line for mark in telling for line in self.log if mark in line]
        return (lines or [*self.log][-1:] or ["it left no message"])[0].strip()

    def stop(self, timeout_s: float = 20.0) -> None:
        """End the server and its workers and remove what they leave behind."""
        with _uninterrupted():
            self._stop(timeout_s)

    def _stop(self, timeout_s: float) -> None:
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                logger.warning("tritonserver did not end within %.0f s; killing it", timeout_s)
        with contextlib.suppress(ProcessLookupError):  # workers of a server that died
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for region in SHM.glob(f"{self.shm_prefix}*"):
            region.unlink(missing_ok=True)
        self.runtime.cleanup()


def start(options: ServerOptions) -> Server:
    """Start the server and wait until every model is ready.

    Raises:
        ServerError: It cannot be started; the message says why.
    """
    distribution = find_distribution()
    check_device(options.device)
    check_ports(options)
    runtime = tempfile.TemporaryDirectory(prefix="plates-")
    shm_prefix = f"plates_{os.getpid()}_{time.monotonic_ns()}_"
    process = subprocess.Popen(
        command(options, distribution, lay_out_backends(distribution, runtime.name), shm_prefix),
        env=environment(options, distribution),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C is ours to handle
        preexec_fn=_end_with_parent,
    )
    server = Server(options, process, runtime, shm_prefix)
    threading.Thread(target=_follow, args=(server,), daemon=True).start()
    try:
        server.wait_until_ready()
    except BaseException:
        server.stop()
        raise
    return server


@contextlib.contextmanager
def running(options: ServerOptions) -> Iterator[Server]:
    """Run a server for the length of a `with` block."""
    server = start(options)
    try:
        yield server
    finally:
        server.stop()


def keep_running(server: Server, options: ServerOptions) -> None:
    """Watch a server and replace it when it or one of its workers dies, until interrupted.

    Raises:
        ServerError: It cannot be started again.
    """
    try:
        while True:
            time.sleep(0.5)
            if not server.is_whole():
                logger.error("the server or one of its workers died; starting again")
                server.stop(timeout_s=0)
                server = start(options)
                logger.warning("the server is ready again")
    finally:
        server.stop()


def is_ready(options: ServerOptions) -> bool:
    """Tell whether the server and every model say that they are ready."""
    paths = ["health/ready", *(f"models/{name}/ready" for name in (MODEL, *COMPONENTS))]
    return all(_answers(f"http://{options.http_url}/v2/{path}") for path in paths)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def lay_out_backends(distribution: Distribution, runtime: str) -> Path:
    """Make the backend directory: the wheel's Python backend, its worker, and our backends.

    These are copies, a few megabytes, because Triton refuses links that leave the folder.
    """
    backends = Path(runtime, "backends")
    python = backends / "python"
    python.mkdir(parents=True)
    shipped = distribution.root / "backends" / "python"
    for file in ("libtriton_python.so", "triton_python_backend_utils.py"):
        shutil.copy(shipped / file, python)
    shutil.copy(distribution.stub, python)
    for backend in OUR_BACKENDS.iterdir():
        shutil.copytree(backend, backends / backend.name)
    return backends


def command(
    options: ServerOptions, distribution: Distribution, backends: Path, shm_prefix: str
) -> list[str]:
    """Return tritonserver's command line."""
    flags = {
        "model-repository": options.repository.resolve(),
        "backend-directory": backends,
        "model-control-mode": "none",
        "strict-readiness": "true",
        "http-address": options.host,
        "http-port": options.http_port,
        "grpc-address": options.host,
        "grpc-port": options.grpc_port,
        "metrics-address": options.host,
        "metrics-port": options.metrics_port,
        "log-info": "false",
        "exit-timeout-secs": 10,
    }
    python = {
        "shm-region-prefix-name": shm_prefix,
        "shm-default-byte-size": 8 * 1024 * 1024,
        "shm-growth-byte-size": 8 * 1024 * 1024,
    }
    return [
        str(distribution.root / "bin" / "tritonserver"),
        "--disable-auto-complete-config",
        *(f"--{name}={value}" for name, value in flags.items()),
        *(
            f"--backend-config={backend},{name}={value}"
            for backend in ("python", *sorted(folder.name for folder in OUR_BACKENDS.iterdir()))
            for name, value in python.items()
        ),
    ]


def environment(options: ServerOptions, distribution: Distribution) -> dict[str, str]:
    """Return the environment of the server and its workers."""
    libraries = [str(folder) for folder in distribution.libraries]
    threads = options.threads or len(os.sched_getaffinity(0))
    return {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(
            [*libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        ),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join([str(PROJECT), *filter(None, sys.path)]),
        "OMP_NUM_THREADS": str(threads),
        **({"CUDA_VISIBLE_DEVICES": ""} if options.device == "cpu" else {}),
    }


def _follow(server: Server) -> None:
    """Keep the end of the server's log and pass it on."""
    assert server.process.stderr is not None
    with server.process.stderr as lines:
        for line in lines:
            server.log.append(line)
            is_error = line.startswith("E") and not any(part in line for part in NOISE)
            logger.log(logging.ERROR if is_error else logging.DEBUG, "%s", line.rstrip())


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an impatient second Ctrl-C not leave half of the server behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _children(pid: int) -> frozenset[int]:
    """Return the living child processes of a process."""
    living = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may end while we look
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state not in "ZX":
                living.add(int(stat.parent.name))
    return frozenset(living)


def _end_with_parent() -> None:
    """Ask the kernel to end the server when this process is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
