"""One watcher: the product's own session, with a service that knows the truth.

    python -m workshop.benchmarks.handover.watcher CAMERAS.toml LOOKS

Every look is a line in the file LOOKS: its time, the camera and the vehicle.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from contextlib import closing
from pathlib import Path

from orchestrator.plates import Plates
from plate_cameras.configuration import read_configuration
from plate_cameras.service.pass_table import PassTable
from plate_cameras.service.session import Watch, watch
from plate_cameras.store.factory import open_store
from workshop.benchmarks.handover.street import read_picture, to_plates


class TruthfulService:
    """Reads every plate as it is drawn.

    Args:
        looks: File for a line a look.
    """

    def __init__(self, looks: Path) -> None:
        self._looks = looks.open("a", encoding="utf-8", buffering=1)

    async def recognize(self, picture: bytes, *, roi: object = None) -> Plates:
        """Return the plates of a picture."""
        del roi
        sight = read_picture(picture)
        self._looks.write(f"{time.time():.3f} {sight.camera} {sight.vehicle}\n")
        return to_plates(sight)


def main(file: str, looks: str) -> None:
    """Watch until a signal comes."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    configuration = read_configuration(Path(file))
    service = TruthfulService(Path(looks))
    with closing(open_store(configuration.store, Path(file).parent, is_shared=True)) as store:
        plan = Watch(
            configuration,
            Path(file),
            service,
            at_once=8,
            table=PassTable(is_json=False, is_all=False),
            store=store,
            is_shared=True,
        )
        asyncio.run(watch(plan))


if __name__ == "__main__":
    main(*sys.argv[1:])
