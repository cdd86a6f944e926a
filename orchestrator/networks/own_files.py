"""The networks that a Triton model runs itself: their files and a list, beside the model's code.

`plates serve --one-model` writes them, and the model's workers read them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

LIST = "networks.json"
"""The list's file, in the version folder of a model that runs networks itself."""


@dataclass(frozen=True)
class OwnFile:
    """A network's file beside a model's code, with what Triton would know of the network.

    Attributes:
        file: The name of the file: .xml with a .bin beside it, or .pt.
        hang_s: The most seconds of one inference; 0 means no limit.
        warm_up: The shapes of its first inputs, before any request.
    """

    file: str
    hang_s: float = 0.0
    warm_up: tuple[tuple[int, ...], ...] = ()


def write_list(folder: Path, networks: Mapping[str, OwnFile]) -> None:
    """Write the list of the networks in a version folder, by name."""
    content = {name: asdict(network) for name, network in networks.items()}
    (folder / LIST).write_text(json.dumps(content, indent=2), encoding="utf-8")


def read_list(folder: Path) -> dict[str, OwnFile]:
    """Return the networks in a version folder, by name; none if its model calls others."""
    if not (folder / LIST).is_file():
        return {}
    content = json.loads((folder / LIST).read_text(encoding="utf-8"))
    return {
        name: OwnFile(entry["file"], entry["hang_s"], tuple(map(tuple, entry["warm_up"])))
        for name, entry in content.items()
    }
