"""The Triton server that the `nvidia-pytriton` wheel carries, and how to call it.

Nothing else of the wheel is used.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.contract import MODEL
from orchestrator.errors import ServerError
from orchestrator.loopback import is_loopback, without_proxy
from orchestrator.server.capacity import usable_cores
from orchestrator.server.options import ServerOptions
from orchestrator.server.repository import MODELS, holds_plates
from orchestrator.server.runtime import Runtime

PROJECT = Path(__file__).resolve().parents[2]
OUR_BACKENDS = Path(__file__).resolve().parents[1] / "triton" / "backends"

ADMIN_HEADER = "plates-admin-key"
"""Header of an administrator's request; over gRPC `triton-grpc-protocol-` comes before it."""
ADMIN_APIS = "model-repository,shared-memory,trace,logging"

UNLESS_SET = {
    # Idle threads of one worker must not spin on the cores that another is working on.
    "OMP_WAIT_POLICY": "PASSIVE",
    # A freed picture stays with its worker. Given back to the kernel, the next one is faulted in
    # again page by page, which takes as long as unpacking it.
    "MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),
    "MALLOC_TRIM_THRESHOLD_": str(128 * 1024 * 1024),
}
"""Environment of the server where the operator has not set it."""


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
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    spec = importlib.util.find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise ServerError(
            "tritonserver: wanted the package nvidia-pytriton, which is for Python 3.10 to 3.12, "
            f"got none installed for this Python {version}"
        )
    package = Path(spec.origin).parent
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
    name = sysconfig.get_config_var("INSTSONAME") or sysconfig.get_config_var("LDLIBRARY") or ""
    if ".so" not in name:
        name = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    # A Python that was moved after it was built still names its first home.
    built_for = Path(sysconfig.get_config_var("LIBDIR") or "")
    for folder in (built_for, Path(sys.base_prefix, "lib")):
        if (folder / name).is_file():
            return folder
    raise ServerError(
        f"tritonserver: wanted a Python with a shared libpython, got {sys.executable} without "
        f"{built_for / name}; on Debian and Ubuntu install the package {name.split('.so')[0]}, "
        "with pyenv build Python with --enable-shared"
    )


def lay_out_backends(distribution: Distribution, runtime: Path) -> Path:
    """Make the backend directory: the wheel's Python backend, its worker, and our backends.

    These are copies, a few megabytes, because Triton refuses links that leave the folder.
    """
    backends = runtime / "backends"
    python = backends / "python"
    python.mkdir(parents=True)
    shipped = distribution.root / "backends" / "python"
    for file in ("libtriton_python.so", "triton_python_backend_utils.py"):
        shutil.copy(shipped / file, python)
    shutil.copy(distribution.stub, python)
    for model in OUR_BACKENDS.glob("*/model.py"):
        (backends / model.parent.name).mkdir()
        shutil.copy(model, backends / model.parent.name)
    return backends


def command(
    options: ServerOptions,
    distribution: Distribution,
    repositories: Sequence[Path],
    backends: Path,
    shm_prefix: str,
) -> list[str]:
    """Return tritonserver's command line."""
    flags = {
        "backend-directory": backends,
        "model-control-mode": "explicit" if options.explicit else "none",
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
        *(f"--model-repository={folder}" for folder in repositories),
        *options.flags,
        *_administration(options),
        *(_traces(options) if options.traces else ()),
        *(
            f"--backend-config={backend},{name}={value}"
            for backend in ("python", *sorted(folder.name for folder in OUR_BACKENDS.iterdir()))
            for name, value in python.items()
        ),
    ]


def _administration(options: ServerOptions) -> Iterator[str]:
    """Keep what is not a caller's from whoever does not know the key.

    Without a key all of it is open to this machine, and to nobody where the server listens to
    others.
    """
    if options.explicit and holds_plates(options.repository):
        yield from (f"--load-model={name}" for name in MODELS)
    if options.admin_key or not options.is_local:
        rule = f"{ADMIN_APIS}:{ADMIN_HEADER}={options.admin_key or secrets.token_hex()}"
        yield f"--http-restricted-api={rule}"
        yield f"--grpc-restricted-protocol={rule}"


def _traces(options: ServerOptions) -> Iterator[str]:
    yield "--trace-config=mode=opentelemetry"
    yield "--trace-config=level=TIMESTAMPS"
    yield f"--trace-config=rate={options.trace_rate}"
    yield f"--trace-config=opentelemetry,url={options.traces}"
    yield f"--trace-config=opentelemetry,resource=service.name={MODEL}"


def environment(
    options: ServerOptions, distribution: Distribution, runtime: Runtime
) -> dict[str, str]:
    """Return the environment of the server and its workers."""
    libraries = [str(runtime.plain(folder)) for folder in distribution.libraries]
    programs = runtime.lay_out_python([*map(Path, filter(None, sys.path)), PROJECT])
    capacity = options.capacity()
    threads = capacity.threads if capacity else usable_cores()
    return {
        **UNLESS_SET,
        **os.environ,
        **(without_proxy(os.environ) if is_loopback(options.traces) else {}),
        "LD_LIBRARY_PATH": os.pathsep.join(
            [*libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        ),
        "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", "")]),
        "OMP_NUM_THREADS": str(threads),
        **({"CUDA_VISIBLE_DEVICES": ""} if options.device == "cpu" else {}),
    }
