"""Decodes JPEG files with nvImageCodec on an NVIDIA GPU, or on a CPU, which needs no driver.

Source: NVIDIA, nvImageCodec 0.9, "Python API".
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from orchestrator.errors import PictureError
from orchestrator.host.distribution import explain_missing_package
from orchestrator.imaging.headers import EXIF, EXIF_NAME, Header, find_segment
from orchestrator.imaging.segments import END_OF_JPEG, JPEG, keep_pixels

FRAMES = (0xC0, 0xC1, 0xC2)
"""JPEG markers of the frames that are decoded: baseline, extended and progressive."""
BITS = 8
COMPONENTS = (1, 3)
"""Numbers of components of a grey JPEG, and of one in colour. Decoders treat four differently."""
RGB = b"RGB"
"""Names of components that are no YCbCr."""
ADOBE = 0xEE
"""JPEG marker of Adobe's segment, APP14."""
TRANSFORM = 13
"""Position of the colour transform in Adobe's segment; 0 means none, so the components are RGB."""
START, LAST = slice(64), slice(-64, None)
LAST_PIXELS = {
    1: (-1, LAST), 2: (-1, START), 3: (0, START), 4: (0, LAST),
    5: (LAST, -1), 6: (LAST, 0), 7: (START, 0), 8: (START, -1),
}  # fmt: skip
"""Places of the last 64 pixels of a file, by its EXIF orientation."""
VERBOSITY = "PYNVIMGCODEC_VERBOSITY"


class JpegDecoder:
    """Decodes JPEG files to the memory of a GPU.

    It decodes no files whose answer may differ from OpenCV's: other formats, kinds of JPEG that
    OpenCV rejects, components other than grey and YCbCr, and files that were cut off, of which a
    GPU may show other parts. A cut-off file has no end, or its last pixels have one colour.

    Args:
        gpu: The number of the GPU; None decodes on the CPU.

    Raises:
        ExtraError: nvImageCodec is not installed.
    """

    def __init__(self, gpu: int | None) -> None:
        os.environ.setdefault(VERBOSITY, "0")  # or damaged files could fill the log
        with explain_missing_package():
            self._library: Any = importlib.import_module("nvidia.nvimgcodec")
        library = self._library
        kinds = [library.CPU_ONLY]
        self._as_array: Callable[[Any], Any] = np.asarray
        if gpu is not None:
            from torch.utils.dlpack import from_dlpack

            kinds = [library.HW_GPU_ONLY, library.GPU_ONLY, library.HYBRID_CPU_GPU]
            self._as_array = from_dlpack
        self._decoder = library.Decoder(
            device_id=library.NVIMGCODEC_DEVICE_CPU_ONLY if gpu is None else gpu,
            max_num_cpu_threads=1,
            backends=[library.Backend(kind) for kind in kinds],
        )
        self._params = library.DecodeParams(
            apply_exif_orientation=True, sample_format=library.I_BGR
        )

    def decode(self, file: bytes, header: Header) -> Any | None:
        """Decode a file.

        Args:
            file: The file's bytes.
            header: The header that `check_file` returned: the picture is no larger than allowed.

        Returns:
            uint8 [H, W, 3] BGR, EXIF orientation applied. It is an object with `__dlpack__` on a
            GPU, ready for CUDA's default stream, and with `__array_interface__` on a CPU. None for
            a file that OpenCV must decode.
        """
        if not _is_ordinary(file):
            return None
        try:
            stream = self._library.CodeStream(keep_pixels(file))
            picture = self._decoder.decode(stream, params=self._params)
        except (PictureError, RuntimeError):  # OpenCV's decoding gives the reason
            return None
        return None if self._may_be_cut(picture, header.orientation) else picture

    def _may_be_cut(self, picture: Any, orientation: int) -> bool:
        """Tell whether the last pixels have one colour, as where a file's data end too early."""
        last_pixels = self._as_array(picture)[LAST_PIXELS[orientation]]
        return bool((last_pixels == last_pixels[:1]).all())


def _is_ordinary(file: bytes) -> bool:
    """Tell whether a file is a complete JPEG of an ordinary kind."""
    if not file.startswith(JPEG) or not file.endswith(END_OF_JPEG):
        return False
    first = find_segment(file, EXIF)
    if first and not file.startswith(EXIF_NAME, first + 2):
        return False  # EXIF data behind XMP, of which nvImageCodec may know nothing
    frame = next(filter(None, (find_segment(file, marker) for marker in FRAMES)), 0)
    fields = file[frame : frame + 17]  # length, bits, height, width, components: 3 bytes each
    if not frame or len(fields) < 11 or fields[2] != BITS or fields[7] not in COMPONENTS:
        return False
    adobe = find_segment(file, ADOBE)
    return fields[8::3] != RGB and not (adobe and file[adobe + TRANSFORM] == 0)
