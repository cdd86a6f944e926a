"""Pictures that the command draws from a picture, without a server."""

import io
from pathlib import Path

import pytest
from PIL import Image

from orchestrator.cli.recognition.output_pictures import OutputPictures
from orchestrator.cli.recognition.result_entry import Entry
from orchestrator.errors import PictureError


def test_other_formats_that_opencv_knows_are_not_unpacked(tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.new("RGB", (31, 17)).save(file, "TIFF")
    with pytest.raises(PictureError, match="wanted a JPEG, PNG, WebP or BMP file"):
        OutputPictures(drawings=tmp_path).make(file.getvalue(), Entry("car.tiff"), Path("car.tiff"))
