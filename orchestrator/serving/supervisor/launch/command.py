"""The command line and the environment of a tritonserver."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.contract import MODEL
from orchestrator.host.heartbeat import VARIABLE as HEARTBEATS
from orchestrator.host.loopback import is_loopback, without_proxy
from orchestrator.host.resources import MIB, keep_freed, usable_memory
from orchestrator.host.subprocesses import without_secrets
from orchestrator.serving.supervisor.gpu import VISIBLE, choose_gpu
from orchestrator.serving.supervisor.installation import OUR_BACKENDS, Installation
from orchestrator.serving.supervisor.models.plate_models import holds_plates, models_of
from orchestrator.serving.supervisor.options import ADMIN_HEADER, CALLER_HEADER, ServerOptions
from orchestrator.serving.supervisor.server_folder import ServerFolder

PROJECT = Path(__file__).resolve().parents[4]
ADMIN_APIS = "model-repository,shared-memory,trace,logging"
CALLER_APIS = "inference,metadata,statistics,model-config"
"""The APIs of callers: all but those of administrators and health."""

CALLS_IN_FLIGHT = 8
"""Threads of each worker in which Triton waits for the other models that the worker's model calls.
More calls of one worker wait for a free thread. Triton starts all these threads at once, and 32
without this option: with two cores, 320 of the service's 460 threads. Models of Python-based
backends have as many as Python models."""
MIN_POOL_MIB, POOL_MIB_A_PICTURE = 256, 16
"""GPU memory for the tensors between models. A detector's input of 1,920 pixels has 8 MiB. Triton's
default of 64 MiB holds ten pictures of two megapixels; calls may fail when it is full."""
UNLESS_SET = {
    # Idle threads of one worker must not spin on cores that another worker needs.
    "OMP_WAIT_POLICY": "PASSIVE",
    # NumPy's products of small matrices need no threads, each of which has a buffer of its own.
    "OPENBLAS_NUM_THREADS": "1",
}
"""Variables for the server, unless the operator has set them."""


def command(
    options: ServerOptions,
    installation: Installation,
    repositories: Sequence[Path],
    backends: Path,
    shm_prefix: str,
    *,
    one_by_one: bool = False,
) -> list[str]:
    """Return tritonserver's command line; every version from 2.51 on knows its options.

    Args:
        options: Options of the server.
        installation: The installation that has the program.
        repositories: The model repositories to serve.
        backends: Folder of its backends.
        shm_prefix: Prefix of the names of its regions in shared memory.
        one_by_one: Load the models one after another, on cores that another server keeps busy.
            Triton drops a worker that is silent for one second, and dies of that. Workers that
            all start at once also wait for each other.
    """
    is_ipv6 = ":" in options.host
    http = f"ipv6:{options.host}" if is_ipv6 else options.host
    flags = {
        "backend-directory": backends,
        "model-control-mode": "explicit",  # so that one model's workers can be replaced
        "strict-readiness": "true",
        "http-address": http,
        "http-port": options.http_port,
        "grpc-address": f"[{options.host}]" if is_ipv6 else options.host,
        "grpc-port": options.grpc_port,
        "metrics-address": http,
        "metrics-port": options.metrics_port,
        "log-info": "false",
        "exit-timeout-secs": 10,
    }
    return [
        str(installation.program),
        "--disable-auto-complete-config",
        *(f"--{name}={value}" for name, value in flags.items()),
        *(("--model-load-thread-count=1",) if one_by_one else ()),
        *(f"--model-repository={folder}" for folder in repositories),
        *(_cuda_pool(options.capacity().pictures) if options.on_gpu() else ()),
        *options.flags,
        *_loading(options),
        *_restrictions(options),
        *(_traces(options) if options.traces else ()),
        *_workers(shm_prefix, options.longest_start_s),
    ]


def _cuda_pool(pictures: int) -> Iterator[str]:
    """Keep GPU memory for the tensors between models: more for more pictures at once."""
    yield f"--cuda-memory-pool-byte-size=0:{max(MIN_POOL_MIB, POOL_MIB_A_PICTURE * pictures) * MIB}"


def _loading(options: ServerOptions) -> Iterator[str]:
    """Return the options that name the models to load at the start."""
    if not options.explicit:
        yield "--load-model=*"
    elif holds_plates(options.repository):
        yield from (f"--load-model={name}" for name in models_of(options.repository))


def _restrictions(options: ServerOptions) -> Iterator[str]:
    """Require a key for each API; only health needs none."""
    keys = {f"{ADMIN_APIS}:{ADMIN_HEADER}": options.admin_key}
    if options.caller_key:
        keys[f"{CALLER_APIS}:{CALLER_HEADER}"] = options.caller_key
    for apis, key in keys.items():
        yield f"--http-restricted-api={apis}={key}"
        yield f"--grpc-restricted-protocol={apis}={key}"


def _traces(options: ServerOptions) -> Iterator[str]:
    yield "--trace-config=mode=opentelemetry"
    yield "--trace-config=level=TIMESTAMPS"
    yield f"--trace-config=rate={options.trace_rate}"
    yield f"--trace-config=opentelemetry,url={options.traces}"
    yield f"--trace-config=opentelemetry,resource=service.name={MODEL}"


def _workers(prefix: str, patience_s: float) -> Iterator[str]:
    """Return the options of Python workers and their shared memory; our backends use them, too.

    Triton gives up a worker that does not start within 30 seconds. On busy cores that happens.
    """
    yield f"--backend-config=python,thread-pool-size={CALLS_IN_FLIGHT}"
    ours = sorted(folder.name for folder in OUR_BACKENDS.iterdir())
    for backend in ("python", *ours):
        yield f"--backend-config={backend},shm-region-prefix-name={prefix}"
        yield f"--backend-config={backend},shm-default-byte-size={8 * 1024 * 1024}"
        yield f"--backend-config={backend},shm-growth-byte-size={8 * 1024 * 1024}"
        yield f"--backend-config={backend},stub-timeout-seconds={math.ceil(patience_s)}"


def environment(
    options: ServerOptions, installation: Installation, folder: ServerFolder
) -> dict[str, str]:
    """Return the environment of the server and its workers."""
    variables = without_secrets()
    libraries = [
        str(folder.plain(library)) for library in installation.libraries if library.is_dir()
    ]
    library_folders = [*libraries, *filter(None, [variables.get("LD_LIBRARY_PATH")])]
    programs = folder.lay_out_python([*map(Path, filter(None, sys.path)), PROJECT])
    return {
        **UNLESS_SET,
        **keep_freed(usable_memory()),
        **variables,
        **(without_proxy(variables) if is_loopback(options.traces) else {}),
        **({"LD_LIBRARY_PATH": os.pathsep.join(library_folders)} if library_folders else {}),
        "PATH": os.pathsep.join([str(programs), variables.get("PATH", "")]),
        "OMP_NUM_THREADS": str(options.capacity().threads),
        HEARTBEATS: folder.heartbeats,
        **({VISIBLE: ""} if options.device == "cpu" else {}),
        **(choose_gpu(variables) if options.on_gpu() else {}),
        **options.variables,
    }
