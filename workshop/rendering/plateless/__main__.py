"""Writes pictures without plates: every text that is read there is wrong.

Example:
    python -m workshop.rendering.plateless --out plateless --count 1000
    plates recognize plateless --csv texts.csv --annotate drawn
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import cv2

from workshop.rendering.commands import Command, at_least
from workshop.rendering.plateless.plateless_pictures import draw_plateless
from workshop.rendering.scenes import check_new

SEED = 20_000
"""Seed of the pictures; no training uses it."""


def _act(options: Namespace) -> None:
    check_new(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    for index, picture in enumerate(draw_plateless(options.count, options.seed)):
        file = options.out / f"{index:04d}.jpg"
        cv2.imwrite(str(file), picture, [cv2.IMWRITE_JPEG_QUALITY, 95])


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the pictures."""
    command = Command(
        "rendering.plateless", "Rendered pictures without plates.", seed=SEED, has_formats=False
    )
    command.add_argument("--out", type=Path, required=True, help="folder to write, new or empty")
    command.add_argument("--count", type=at_least(1), default=1000)
    command.run(_act, arguments)


if __name__ == "__main__":
    main()
