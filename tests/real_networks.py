"""The real networks, and pictures drawn for them: once in a process, for all tests of a pipeline.

Nobody may write to the pictures.
"""

from functools import cache

import cv2
import numpy as np

from orchestrator import load_networks
from orchestrator.networks.engines import Engine
from orchestrator.networks.export import Networks
from workshop.benchmarks import gpu_check, pictures
from workshop.benchmarks.pictures import Picture, encode

render = cache(pictures.render)
turned, large = cache(gpu_check.draw_turned), cache(gpu_check.draw_large)


@cache
def load_int8() -> Networks:
    return load_networks(engine=Engine.OPENVINO_INT8, threads=1)


@cache
def far() -> Picture:
    """Return a picture whose plate is 29 px wide, so that it stays unsure and is found again."""
    size_wh = tuple(round(0.11 * size) for size in render(1).bgr.shape[1::-1])
    bgr = cv2.resize(render(1).bgr, size_wh, interpolation=cv2.INTER_AREA)
    return encode("far", np.asarray(bgr, np.uint8))
