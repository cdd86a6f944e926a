"""Checks that this machine can start the server, before the work of starting it."""

from __future__ import annotations

import re
import resource
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.contract import SHM
from orchestrator.errors import ServerError, SettingsError
from orchestrator.host.loopback import reach
from orchestrator.host.resources import MIB, least_bytes, usable_memory
from orchestrator.networks.weights import WEIGHTS
from orchestrator.serving.supervisor.gpu import explain_no_gpu
from orchestrator.serving.supervisor.installation import find_installation
from orchestrator.serving.supervisor.models.model_repository import check_distinct, count_workers
from orchestrator.serving.supervisor.models.one_model import check_one_model
from orchestrator.serving.supervisor.models.plate_models import (
    REPOSITORY,
    count_ours,
    holds_plates,
    weigh_ours,
)
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import ListenAddress, address_of, check_listening
from orchestrator.serving.supervisor.server_folder import remove_leftovers

SHM_PER_WORKER = 16 * 1024 * 1024
"""Bytes of shared memory for each worker. The start takes half of them; the other half is for a
picture of two megapixels."""
SHM_COPIES = 2.4
"""Shared memory that a call takes, in sizes of its picture: 77 MB for unpacked pixels of 32 MB."""
MAX_FILES = 16384
"""Limit of open files that a service asks for, as its unit of systemd does."""
FILES, FILES_PER_WORKER = 64, 6
"""Files that Triton opens itself, and for each worker. With ten workers, 77 were measured."""
DEVICES = ("auto", "cpu", "gpu")


def check(options: ServerOptions, other_addresses: Sequence[ListenAddress] = ()) -> ServerOptions:
    """Check that this machine can serve so; return the options with the host as an address.

    This also removes what killed services left behind, such as processes that still hold ports,
    and raises the limit of open files.

    Args:
        options: Options of the server.
        other_addresses: Addresses and ports of the other services that start with it.

    Raises:
        ServerError: The machine cannot start the server; the message gives the reason.
        SettingsError: A repository that is served as it lies was not named.
    """
    if options.explicit and options.repository == REPOSITORY:
        raise SettingsError(
            "to serve a model repository as it lies, name one that plates export --out wrote: "
            "--model-repository FOLDER"
        )
    check_as_it_lies(options)
    check_one_model(options)
    check_distinct((options.repository, *options.beside))
    check_texts(options)
    check_device(options.device)
    if options.tritonserver:
        find_installation(options.tritonserver)
    options = replace(options, host=address_of(options.host))
    check_network(options)
    check_localhost(options)
    remove_leftovers()  # which hold ports and memory
    check_listening([*other_addresses, *options.listening])
    check_memory(options, usable_memory())
    check_shared_memory(options)
    check_files(options)
    return options


def check_as_it_lies(options: ServerOptions) -> None:
    """Check that no weights are given for a repository that already has its networks.

    Raises:
        SettingsError: Weights are given.
    """
    path = options.formats or (options.weights if options.weights != WEIGHTS else None)
    if path and not options.is_made_here:
        raise SettingsError(
            f"{options.repository} is served as it lies: wanted neither weights nor formats beside "
            f"it, got {path}"
        )


def check_network(options: ServerOptions) -> None:
    """Check that the server listens only to this machine, unless more was asked for.

    Raises:
        SettingsError: It listens to other machines, too.
    """
    if not options.is_local and not options.trust_network:
        raise SettingsError(
            f"host: wanted an address of this machine alone for bare Triton, got {options.host}: "
            "one request from anybody can end it. Leave --no-gateway out; or say --trust-network, "
            "and every host on this network may call Triton without a key"
        )


def check_localhost(options: ServerOptions) -> None:
    """Check that this machine resolves the name that its own clients use.

    A bare container may not resolve it.

    Raises:
        ServerError: The name does not resolve.
    """
    host = reach(options.host)
    try:
        socket.getaddrinfo(host.strip("[]"), options.http_port)
    except OSError as error:
        raise ServerError(
            f"{host}:{options.http_port}: this machine does not know the name ({error.strerror}); "
            "add the line 127.0.0.1 localhost to /etc/hosts"
        ) from error


def check_memory(options: ServerOptions, memory_bytes: int) -> None:
    """Check that there is enough memory for the workers of our models, and for a picture.

    The memory of other models, and of networks on a GPU, is not known.

    Args:
        options: Options of the server.
        memory_bytes: Memory of the container or machine.

    Raises:
        ServerError: There is too little: the kernel would kill some of them.
    """
    capacity = options.capacity()
    if capacity.on_gpu or not holds_plates(options.repository):
        return
    workers = count_ours(capacity)
    required_bytes = least_bytes(weigh_ours(capacity))
    if memory_bytes < required_bytes:
        raise ServerError(
            f"memory: wanted {required_bytes // MIB} MiB for {workers} workers and their pictures, "
            f"got {memory_bytes // MIB} MiB; with Docker use a larger --memory, in Kubernetes a "
            "larger limits.memory"
        )


def check_shared_memory(options: ServerOptions, folder: Path = SHM) -> None:
    """Check that there is enough shared memory for the workers' tensors.

    A container has 64 MB unless configured.

    Raises:
        ServerError: There is too little.
    """
    if holds_plates(options.repository) and options.capacity().pictures_on_gpu:
        return
    workers = _count_workers(options)
    required_bytes, free = workers * SHM_PER_WORKER, _free_bytes(folder)
    if free < required_bytes:
        raise ServerError(
            f"{folder}: wanted {required_bytes >> 20} MB for {workers} workers, got "
            f"{free >> 20} MB; with Docker use --shm-size=512m, in Kubernetes mount a memory "
            "volume there"
        )


def check_files(options: ServerOptions) -> None:
    """Raise the limit of open files as far as permitted, and check that it is high enough.

    With too few, Triton goes on without its connections, and is never ready.

    Raises:
        ServerError: It is too low.
    """
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = max(soft_limit, min(hard_limit, MAX_FILES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard_limit))
    workers = _count_workers(options)
    required_files = FILES + workers * FILES_PER_WORKER
    if limit < required_files:
        raise ServerError(
            f"open files: wanted a limit of {required_files} for {workers} workers, got {limit}; "
            f"raise it: ulimit -n {MAX_FILES}, or LimitNOFILE of systemd"
        )


def _count_workers(options: ServerOptions) -> int:
    """Return the number of workers of all models."""
    workers = sum(map(count_workers, options.served_as_they_lie))
    return workers + (count_ours(options.capacity()) if holds_plates(options.repository) else 0)


def shared_bytes_of_call(options: ServerOptions, folder: Path = SHM) -> int:
    """Return the size of the largest call whose tensors fit into the shared memory, in bytes.

    The region of each worker grows with its largest call, and does not shrink.

    Raises:
        ServerError: There is no shared memory.
    """
    capacity = options.capacity()
    free_bytes = _free_bytes(folder) - count_ours(capacity) * SHM_PER_WORKER
    free_for_one = max(0, free_bytes) / max(1, capacity.pictures)
    return sys.maxsize if capacity.pictures_on_gpu else int(free_for_one / SHM_COPIES)


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise ServerError(
            f"{folder}: wanted shared memory for the workers, got {error.strerror}; "
            "mount a memory volume there"
        ) from error


def check_texts(options: ServerOptions) -> None:
    """Check that Triton's command line can carry the texts among the options.

    Raises:
        ServerError: Triton would misunderstand one.
    """
    if options.traces and not re.fullmatch(r"https?://[^\s,]+", options.traces):
        raise ServerError(f"traces: wanted http://host:port/v1/traces, got {options.traces}")
    if not re.fullmatch(r"[\w.-]+", options.admin_key):  # a secret: not repeated
        raise ServerError("admin key: wanted letters, digits, - and ., got other characters")


def check_device(device: str) -> None:
    """Check that the device is available.

    Raises:
        ServerError: The device is unknown, or is a GPU on a machine without one.
    """
    if device not in DEVICES:
        raise ServerError(f"device: wanted one of {', '.join(DEVICES)}, got {device}")
    if device == "gpu":
        reason = explain_no_gpu()
        if reason:
            raise ServerError(f"device: wanted a GPU, got none that PyTorch can use: {reason}")
