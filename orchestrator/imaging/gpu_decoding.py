"""Decodes JPEG files with nvImageCodec on an NVIDIA GPU, or on a CPU, which needs no driver.

Source: NVIDIA, nvImageCodec 0.9, "Python API".
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from orchestrator.errors import PictureError
from orchestrator.host.distribution import needs_told
from orchestrator.imaging.headers import EXIF, EXIF_NAME, find_segment
from orchestrator.imaging.segments import END_OF_JPEG, keep_pixels

JPEG = b"\xff\xd8\xff"
FRAMES = (0xC0, 0xC1, 0xC2)
"""JPEG markers of the frames that are decoded: baseline, extended and progressive."""
BITS = 8
COMPONENTS = (1, 3)
"""Numbers of components of a grey JPEG, and of one in colour. Decoders treat four differently."""
VERBOSITY = "PYNVIMGCODEC_VERBOSITY"


class JpegDecoder:
    """Decodes JPEG files to the memory of a GPU.

    It decodes no files whose answer may differ from OpenCV's: other formats, kinds of JPEG that
    OpenCV rejects, four components, and files without an end, of which a GPU may show a part.

    Args:
        gpu: The number of the GPU; None decodes on the CPU.

    Raises:
        ExtraError: nvImageCodec is not installed.
    """

    def __init__(self, gpu: int | None) -> None:
        os.environ.setdefault(VERBOSITY, "0")  # or damaged files could fill the log
        with needs_told():
            self._library: Any = importlib.import_module("nvidia.nvimgcodec")
        library = self._library
        kinds = [library.CPU_ONLY]
        if gpu is not None:
            kinds = [library.HW_GPU_ONLY, library.GPU_ONLY, library.HYBRID_CPU_GPU]
        self._decoder = library.Decoder(
            device_id=library.NVIMGCODEC_DEVICE_CPU_ONLY if gpu is None else gpu,
            max_num_cpu_threads=1,
            backends=[library.Backend(kind) for kind in kinds],
        )
        self._params = library.DecodeParams(
            apply_exif_orientation=True, sample_format=library.I_BGR
        )

    def decode(self, encoded: bytes) -> Any | None:
        """Decode a file.

        Args:
            encoded: The file's bytes. `check_file` has found it to be no larger than allowed.

        Returns:
            uint8 [H, W, 3] BGR, EXIF orientation applied. It is an object with `__dlpack__` on a
            GPU, ready for CUDA's default stream, and with `__array_interface__` on a CPU. None for
            a file that OpenCV must decode.
        """
        if not _is_ordinary(encoded):
            return None
        try:
            file = self._library.CodeStream(keep_pixels(encoded))
            return self._decoder.decode(file, params=self._params)
        except (PictureError, RuntimeError):  # OpenCV's decoding gives the reason
            return None


def _is_ordinary(encoded: bytes) -> bool:
    """Tell whether a file is a complete JPEG of an ordinary kind."""
    if not encoded.startswith(JPEG) or not encoded.endswith(END_OF_JPEG):
        return False
    first = find_segment(encoded, EXIF)
    if first and not encoded.startswith(EXIF_NAME, first + 2):
        return False  # EXIF data behind XMP, of which nvImageCodec may know nothing
    frame = next(filter(None, (find_segment(encoded, marker) for marker in FRAMES)), 0)
    fields = encoded[frame : frame + 8]  # the frame's length, bits, height, width and components
    return frame > 0 and len(fields) == 8 and fields[2] == BITS and fields[7] in COMPONENTS
