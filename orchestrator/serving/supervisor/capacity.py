"""Computes how many workers and threads fit a machine's cores, or its GPU."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.host.resources import usable_cores

MAX_THREADS = 4
"""Largest number of threads of one inference; more make one picture hardly faster."""
PICTURES_ON_A_GPU = 4
"""Pictures processed at once on a GPU, unless another number is asked for."""


@dataclass(frozen=True)
class Capacity:
    """The shares of a CPU, or of a GPU, that the models get.

    Attributes:
        threads: CPU threads of one inference.
        instances: Inferences of the detector, and of the reader, at once.
        pictures: Pictures processed at once; the rest wait in the queue.
        on_gpu: The networks run on a GPU.
        pictures_on_cpu: Pictures stay on the CPU all the same, and only the inputs of the networks
            go to the GPU.
        cuda_graphs: The detector runs as CUDA graphs.
        decode_on_gpu: The GPU decodes JPEG files.
        is_one_model: `plate_recognition` runs the networks in its own workers.
    """

    threads: int
    instances: int
    pictures: int
    on_gpu: bool = False
    pictures_on_cpu: bool = False
    cuda_graphs: bool = False
    decode_on_gpu: bool = False
    is_one_model: bool = False


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
    *, threads: int = 0, instances: int = 0, pictures: int = 0, **places: bool
) -> Capacity:
    """Return the capacity of a GPU, or the values that were asked for.

    One instance of a network takes all calls, in batches. A second one overlaps its launches with
    the first one's kernels; it takes another CUDA context of some 0.5 GB.

    Args:
        threads: CPU threads of one inference; 0 means one for each core.
        instances: Inferences of the detector, and of the reader, at once; 0 means one.
        pictures: Pictures processed at once; 0 means as many as usual.
        places: `pictures_on_cpu`, `cuda_graphs` and `decode_on_gpu` of `Capacity`.
    """
    return Capacity(
        threads or usable_cores(),
        instances or 1,
        pictures or PICTURES_ON_A_GPU,
        on_gpu=True,
        **places,
    )
