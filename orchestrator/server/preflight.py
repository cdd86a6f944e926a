"""Whether the server can be started so on this machine, asked before the work of starting it."""

from __future__ import annotations

import re
import shutil
import socket
from dataclasses import replace
from pathlib import Path

from orchestrator.contract import SHM
from orchestrator.errors import ServerError, SettingsError
from orchestrator.loopback import reach
from orchestrator.memory import MIB, least_bytes, usable_memory
from orchestrator.networks.weights import WEIGHTS
from orchestrator.server.models import check_distinct, count_workers
from orchestrator.server.options import ServerOptions
from orchestrator.server.ports import address_of, check_listening
from orchestrator.server.repository import REPOSITORY, count_ours, holds_plates
from orchestrator.server.runtime import remove_leftovers

SHM_PER_WORKER = 16 * 1024 * 1024
"""Bytes: half of it is taken at the start, the other half is for a picture of two megapixels."""
DEVICES = ("auto", "cpu", "gpu")


def check(options: ServerOptions) -> ServerOptions:
    """See that this machine can serve so; return the options with the host as an address.

    What services left that were killed is removed: it would be in the way.

    Raises:
        ServerError: It cannot; the message says why.
        SettingsError: No repository was named that could be served as it lies.
    """
    if options.explicit and options.repository == REPOSITORY:
        raise SettingsError(
            "to serve a model repository as it lies, name one that plates export --out wrote: "
            "--model-repository FOLDER"
        )
    check_as_it_lies(options)
    check_distinct((options.repository, *options.beside))
    check_texts(options)
    check_device(options.device)
    options = replace(options, host=address_of(options.host))
    check_network(options)
    check_localhost(options)
    remove_leftovers()  # which have ports and memory
    check_ports(options)
    check_memory(options, usable_memory())
    check_shared_memory(options)
    return options


def check_as_it_lies(options: ServerOptions) -> None:
    """See that no weights are named for a repository that has its networks in it.

    Raises:
        SettingsError: Some are.
    """
    named = options.formats or (options.weights if options.weights != WEIGHTS else None)
    if named and not options.is_made_here:
        raise SettingsError(
            f"{options.repository} is served as it lies: wanted neither weights nor formats beside "
            f"it, got {named}"
        )


def check_network(options: ServerOptions) -> None:
    """See that nobody but this machine is listened to, unless that was asked for.

    Raises:
        SettingsError: Others are.
    """
    if not options.is_local and not options.trust_network:
        raise SettingsError(
            f"host: wanted an address of this machine alone for bare Triton, got {options.host}: "
            "one request from anybody can end it. Leave --no-gateway out; or say --trust-network, "
            "and every host on this network may call Triton without a key"
        )


def check_localhost(options: ServerOptions) -> None:
    """See that this machine knows the name that its own callers use; a bare container may not.

    Raises:
        ServerError: It does not.
    """
    host = reach(options.host)
    try:
        socket.getaddrinfo(host.strip("[]"), options.http_port)
    except OSError as error:
        raise ServerError(
            f"{host}:{options.http_port}: this machine does not know the name ({error.strerror}); "
            "add the line 127.0.0.1 localhost to /etc/hosts"
        ) from error


def check_ports(options: ServerOptions) -> None:
    """See that the three ports are free.

    Raises:
        ServerError: One of them is no port, the same as another, in use, or not to be had.
    """
    check_listening(options.listening)


def check_memory(options: ServerOptions, memory_bytes: int) -> None:
    """See that the workers of our models, and a picture, have enough memory.

    How much models of others and networks on a GPU take is not known.

    Args:
        options: How the server is to be started.
        memory_bytes: Memory of the container or machine.

    Raises:
        ServerError: They have not: the kernel would kill some of them.
    """
    capacity = options.capacity()
    if capacity is None or not holds_plates(options.repository):
        return
    workers = count_ours(capacity)
    wanted = least_bytes(workers)
    if memory_bytes < wanted:
        raise ServerError(
            f"memory: wanted {wanted // MIB} MiB for {workers} workers and their pictures, got "
            f"{memory_bytes // MIB} MiB; with Docker use a larger --memory, in Kubernetes a larger "
            "limits.memory"
        )


def check_shared_memory(options: ServerOptions, folder: Path = SHM) -> None:
    """See that the workers have room to exchange tensors; a container gets 64 MB unless told.

    Raises:
        ServerError: They have not.
    """
    workers = sum(map(count_workers, options.served_as_they_lie))
    if holds_plates(options.repository):
        capacity = options.capacity()
        if capacity is None:
            return
        workers += count_ours(capacity)
    wanted, free = workers * SHM_PER_WORKER, _free_bytes(folder)
    if free < wanted:
        raise ServerError(
            f"{folder}: wanted {wanted >> 20} MB for {workers} workers, got {free >> 20} MB; "
            "with Docker use --shm-size=512m, in Kubernetes mount a memory volume there"
        )


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise ServerError(
            f"{folder}: wanted shared memory for the workers, got {error.strerror}; "
            "mount a memory volume there"
        ) from error


def check_texts(options: ServerOptions) -> None:
    """See that Triton can be told the texts among the options on its command line.

    Raises:
        ServerError: It would misunderstand one.
    """
    if options.traces and not re.fullmatch(r"https?://[^\s,]+", options.traces):
        raise ServerError(f"traces: wanted http://host:port/v1/traces, got {options.traces}")
    if not re.fullmatch(r"[\w.-]+", options.admin_key):  # a secret: not repeated
        raise ServerError("admin key: wanted letters, digits, - and ., got other characters")


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
