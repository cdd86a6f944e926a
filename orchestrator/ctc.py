"""CTC decoding: from LPRNet's logits to readings.

Source: Graves et al. 2006 (CTC); Hannun et al. 2014 (prefix beam search).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
import numpy.typing as npt
from torch import Tensor

from orchestrator.errors import ModelError
from orchestrator.plates import ALPHABET, BLANK, CANDIDATES, FORMATS, MAX_LENGTH, PlateFormat

BEAM_WIDTH = 12
MIN_PROB = 1e-5  # classes rarer than this at a step cannot change a candidate worth showing

Probs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """What one plate's logits say.

    Attributes:
        raw_text: Best path: the likeliest class of each step, collapsed.
        character_scores: Per character of `raw_text`, the best probability among its steps.
        candidates: Up to five texts that have a plate format, best first, with the probability of
            the whole text.
    """

    raw_text: str
    character_scores: tuple[float, ...]
    candidates: tuple[tuple[str, float], ...]


def decode(
    logits: Tensor, formats: Sequence[PlateFormat] = FORMATS, *, temperature: float = 1.0
) -> list[Reading]:
    """Read each plate by best path and by prefix beam search within the plate formats.

    Args:
        logits: float32 [N, 23, T], not softmaxed; class 22 is the blank.
        formats: Layouts a candidate may have.
        temperature: Divides the logits; above 1 where the network is surer than it is right.

    Returns:
        N readings in the order of the plates.

    Raises:
        ModelError: The logits have another number of classes or are not finite.
    """
    if logits.ndim != 3 or logits.shape[1] != BLANK + 1:
        raise ModelError(f"logits: wanted [N, {BLANK + 1}, T], got {list(logits.shape)}")
    probs = (logits.double() / temperature).softmax(dim=1).cpu().numpy()
    if not np.isfinite(probs).all():
        raise ModelError("logits: wanted finite numbers, got NaN or infinity")
    grammar = Grammar.of(tuple(formats))
    return [
        Reading(*best_path(lattice), candidates=beam_search(lattice, grammar))
        for lattice in probs.transpose(0, 2, 1)
    ]


def collapse(classes: Iterable[int], blank: int = BLANK) -> list[int]:
    """Merge repeats, then drop blanks."""
    return [c for c, _ in groupby(classes) if c != blank]


def best_path(lattice: Probs) -> tuple[str, tuple[float, ...]]:
    """Collapse the likeliest class of each step.

    Args:
        lattice: [T, C] probabilities.

    Returns:
        The text and, per character, the highest probability among the steps merged into it.
    """
    steps = zip(lattice.argmax(axis=1).tolist(), lattice.max(axis=1).tolist(), strict=True)
    runs = [(c, max(p for _, p in run)) for c, run in groupby(steps, key=lambda step: step[0])]
    return (
        "".join(ALPHABET[c] for c, _ in runs if c != BLANK),
        tuple(p for c, p in runs if c != BLANK),
    )


@dataclass(frozen=True)
class Grammar:
    """The layouts as bit masks: which of them a prefix can still become.

    Attributes:
        start: Every layout.
        after: Per position and class, the layouts that allow the class there.
        complete: Per length, the layouts that end there.
    """

    start: int
    after: tuple[tuple[int, ...], ...]
    complete: tuple[int, ...]

    @staticmethod
    @lru_cache(maxsize=8)
    def of(formats: tuple[PlateFormat, ...]) -> Grammar:
        """Compile plate formats."""
        layouts = [layout for plate_format in formats for layout in plate_format.layouts]

        def mask(allowed: Iterable[bool]) -> int:
            return sum(1 << index for index, yes in enumerate(allowed) if yes)

        return Grammar(
            start=(1 << len(layouts)) - 1,
            after=tuple(
                tuple(
                    mask(layout[position : position + 1] == _kind(char) for layout in layouts)
                    for char in ALPHABET
                )
                for position in range(MAX_LENGTH + 1)
            ),
            complete=tuple(
                mask(len(layout) == length for layout in layouts)
                for length in range(MAX_LENGTH + 1)
            ),
        )


def _kind(char: str) -> str:
    return "D" if char.isdigit() else "L"


@dataclass
class _Beam:
    """Probability of one prefix, split by whether its last step was the blank."""

    alive: int
    blank: float = 0.0
    char: float = 0.0

    @property
    def total(self) -> float:
        return self.blank + self.char


def beam_search(
    lattice: Probs, grammar: Grammar, *, width: int = BEAM_WIDTH
) -> tuple[tuple[str, float], ...]:
    """Find the likeliest texts that the grammar allows, summing over all their alignments.

    Args:
        lattice: [T, C] probabilities, the last class being the blank.
        grammar: What a text may be.
        width: Prefixes kept after each step.

    Returns:
        Up to five complete texts, best first, each with its probability.
    """
    beams: dict[tuple[int, ...], _Beam] = {(): _Beam(grammar.start, blank=1.0)}
    for probs in lattice.tolist():
        beams = _step(beams, probs, grammar)
        best = sorted(beams.items(), key=lambda item: item[1].total, reverse=True)
        beams = dict(best[:width])
    complete = [
        ("".join(ALPHABET[c] for c in prefix), beam.total)
        for prefix, beam in beams.items()
        if beam.total > 0 and beam.alive & grammar.complete[len(prefix)]
    ]
    return tuple(complete[:CANDIDATES])


def _step(
    beams: dict[tuple[int, ...], _Beam], probs: list[float], grammar: Grammar
) -> dict[tuple[int, ...], _Beam]:
    """Extend every prefix by one step of the lattice."""
    likely = [(c, p) for c, p in enumerate(probs[:BLANK]) if p > MIN_PROB]
    after: dict[tuple[int, ...], _Beam] = {}
    for prefix, beam in beams.items():
        stay = after.setdefault(prefix, _Beam(beam.alive))
        stay.blank += beam.total * probs[BLANK]
        last = prefix[-1] if prefix else BLANK
        if prefix:
            stay.char += beam.char * probs[last]
        for c, p in likely:
            alive = beam.alive & grammar.after[len(prefix)][c]
            if alive:
                longer = after.setdefault((*prefix, c), _Beam(alive))
                longer.char += (beam.blank if c == last else beam.total) * p
    return after
