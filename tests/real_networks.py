"""The real networks, and pictures drawn for them: once in a process, for all tests of a pipeline.

Nobody may write to the pictures.
"""

from functools import cache

from orchestrator import load_networks
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import Networks
from workshop.benchmarks import gpu_check

turned, large = cache(gpu_check.draw_turned), cache(gpu_check.draw_large)


@cache
def load_int8() -> Networks:
    return load_networks(engine=Engine.OPENVINO_INT8, threads=1)
