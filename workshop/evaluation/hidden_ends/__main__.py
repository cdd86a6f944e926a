"""Prints how many plates whose right end is hidden are read as shorter ones.

    python -m workshop.evaluation.hidden_ends --plates 320 --scenes SCENES

The exit status is 1 if more texts are shorter and sure than `MAX_SURE_SHARE` allows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from orchestrator.networks.engines import Engine
from orchestrator.networks.export import load_networks
from workshop.evaluation.hidden_ends.counting import (
    KINDS,
    SEED,
    count_hidden,
    describe,
    read_targets,
    render_targets,
    share_of,
)

MAX_SURE_SHARE = 0.003
"""Greatest share of the plates that may be read as shorter ones, with a sure score."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; the exit status is 1 if too many texts are shorter and sure."""
    parser = argparse.ArgumentParser(
        "workshop.evaluation.hidden_ends", description="Plates whose right end is hidden."
    )
    parser.add_argument("--plates", type=int, default=320, help="rendered ones; 320")
    parser.add_argument("--covers", type=int, default=len(KINDS), help="for each plate; all five")
    parser.add_argument("--scenes", type=Path, help="labelled photos, as for plates evaluate")
    parser.add_argument("--seed", type=int, default=SEED, help="of plates and covers")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU; all cores")
    options = parser.parse_args(arguments)
    infer = load_networks(engine=Engine.OPENVINO_INT8, threads=options.threads)
    groups = {"rendered plates": render_targets(options.plates, options.seed)}
    groups |= {"photos": read_targets(options.scenes)} if options.scenes else {}
    shares = []
    for name, targets in groups.items():
        counts = count_hidden(targets, infer, options.covers, options.seed)
        shares.append(share_of(counts))
        print(f"{name}\n{describe(counts)}\n", flush=True)  # noqa: T201
    if max(shares) > MAX_SURE_SHARE:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
