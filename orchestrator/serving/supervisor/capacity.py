"""Computes how many workers and threads fit a machine's cores, or its GPU."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.host.resources import usable_cores

MAX_THREADS = 4
"""Largest number of threads of one inference; more make one picture hardly faster."""
MAX_PICTURES = 64
"""Largest number of pictures processed at once, of the option `--pictures`."""
PICTURES_ON_A_GPU = 4
"""Pictures processed at once where pictures lie on a GPU: each worker has a CUDA context there."""


@dataclass(frozen=True)
class Capacity:
    """The shares of a CPU, or of a GPU, that the models get.

    Attributes:
        threads: CPU threads of one inference.
        instances: Inferences of the detector, and of the reader, at once.
        pictures: Pictures processed at once; the rest wait in the queue.
        on_gpu: The networks run on a GPU, and the detector as CUDA graphs.
        pictures_on_gpu: Pictures lie on it, too, and are decoded, scaled and cut there.
        is_one_model: `plate_recognition` runs the networks in its own workers.
        gateway_queues: Every call comes through the gateway, which limits how many wait at Triton.
    """

    threads: int
    instances: int
    pictures: int
    on_gpu: bool = False
    pictures_on_gpu: bool = False
    is_one_model: bool = False
    gateway_queues: bool = False


def fitting(
    cores: int = 0,
    *,
    threads: int = 0,
    instances: int = 0,
    pictures: int = 0,
    is_one_model: bool = False,
) -> Capacity:
    """Return the capacity that fits the cores, or the values that were asked for.

    The inference of a single client has several threads. Two instances use the time that one leaves
    free while its picture is decoded, cut or read. With two cores they handle 35 pictures a second
    instead of 20. One picture more than there are instances keeps the instances busy. A second
    extra picture brings 3 % more throughput, but some answers take twice the median.

    Args:
        cores: Cores to use; 0 means all cores that this process may use.
        threads: Threads of one inference; 0 means as many as fit.
        instances: Inferences of the detector, and of the reader, at once; 0 means as many as fit,
            and no more than pictures.
        pictures: Pictures processed at once; 0 means as many as fit.
        is_one_model: Each picture at once has networks of its own, and a core.
    """
    cores = cores or usable_cores()
    threads = threads or min(cores, MAX_THREADS)
    if is_one_model:
        pictures = pictures or cores
        return Capacity(threads, pictures, pictures, is_one_model=True)
    fits = max(min(cores, 2), cores // 2)
    instances = instances or min(fits, pictures or fits)
    return Capacity(
        threads=threads,
        instances=instances,
        pictures=pictures or instances + 1,
    )


def fitting_gpu(
    cores: int = 0,
    *,
    threads: int = 0,
    instances: int = 0,
    pictures: int = 0,
    pictures_on_gpu: bool = False,
) -> Capacity:
    """Return the capacity of a GPU, or the values that were asked for.

    An H200 with 16 cores waits for Python (docs/why/capacity.md). So half as many pictures again as
    there are cores are in work, and while one instance of a network launches its kernels, those of
    the other one run.

    Args:
        cores: Cores to use; 0 means all cores that this process may use.
        threads: CPU threads of one inference; 0 means one for each core.
        instances: Inferences of the detector, and of the reader, at once; 0 means two.
        pictures: Pictures processed at once; 0 means as many as fit.
        pictures_on_gpu: As in `Capacity`.
    """
    cores = cores or usable_cores()
    fits = min(max(PICTURES_ON_A_GPU, cores * 3 // 2), MAX_PICTURES)
    return Capacity(
        threads or cores,
        instances or 2,
        pictures or (PICTURES_ON_A_GPU if pictures_on_gpu else fits),
        on_gpu=True,
        pictures_on_gpu=pictures_on_gpu,
    )
