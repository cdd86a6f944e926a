"""The home country's own reader, which stays as it is beside a new one for several countries."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from torch import Tensor

from orchestrator.contract import READER, RECTIFIER
from orchestrator.errors import WeightsError
from orchestrator.formats.plate_formats import Formats, read_formats
from orchestrator.networks.registry import NETWORKS
from orchestrator.networks.state_dicts import load_state, pop_alphabet, read_state, with_alphabet
from orchestrator.networks.two_readers import HOME, join, select_part
from orchestrator.networks.weights import choose_formats
from workshop.training.runs import save_tensors

log = logging.getLogger(__name__)


def read_home_reader(home: Path, formats: Formats) -> dict[str, Tensor]:
    """Return the weights of the home country's LPRNet.

    Args:
        home: Folder of weights for the home country, or for several countries with the same home.
        formats: The plates of all countries.

    Raises:
        WeightsError: The folder cannot be used, or the alphabet does not begin with the home
            country's and end with signs.
    """
    state, theirs = load_state(READER, home), read_formats(choose_formats(home)).alphabet
    pop_alphabet(state)
    state = select_part(state, HOME) or state
    theirs = theirs[: len(state.get("container.bias", ())) - 1]
    if not formats.signs or not theirs or not formats.alphabet.startswith(theirs):
        raise WeightsError(
            f"{home}: wanted plate formats with signs of countries, in an alphabet that begins "
            f"with {theirs}, got {formats.alphabet}"
        )
    return state


def keep_home_reader(home: Path, folder: Path) -> None:
    """Put the home country's reader beside the one of a run's folder, and its STN before both."""
    file = folder / NETWORKS[READER].weights
    formats, abroad = read_formats(choose_formats(folder)), read_state(file)
    pop_alphabet(abroad)
    joined = join(read_home_reader(home, formats), abroad)
    save_tensors(with_alphabet(joined, formats.alphabet), file)
    shutil.copyfile(home / NETWORKS[RECTIFIER].weights, folder / NETWORKS[RECTIFIER].weights)
    log.info("plates without a sign are read by the reader of %s", home)
