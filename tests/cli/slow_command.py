"""The command as a separate process, with a slow client that needs no server."""

import os
import sys
from pathlib import Path

from tests.samples import PROJECT

COMMAND = """
import time
from orchestrator.cli import chosen_server
from orchestrator import client
from orchestrator.cli.app import app
from orchestrator.plates import Plate, Plates
from tests.cli.no_server import NoServer

class SlowClient(NoServer):
    def recognize(self, picture, **parameters):
        time.sleep(0.02)
        return Plates((Plate((0, 0, 90, 20), text="A001AA77"),) * int(picture))

client.PlateClient, chosen_server.fitting_calls = SlowClient, lambda *_: 4
app()
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "xterm", "COLUMNS": "100"}


def command(*arguments: str) -> list[str]:
    """Return the command line. The digits in a picture's file are its number of plates."""
    return [sys.executable, "-c", COMMAND, "recognize", "--url", "x:1", *arguments]


def write_photos(folder: Path, contents: list[str]) -> Path:
    """Write a folder of pictures with these contents."""
    (folder / "photos").mkdir()
    for number, content in enumerate(contents):
        (folder / "photos" / f"{number:03}.jpg").write_text(content)
    return folder / "photos"
