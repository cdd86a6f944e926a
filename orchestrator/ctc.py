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
from orchestrator.plates import (
    ALPHABET,
    BLANK,
    CANDIDATES,
    FORMATS,
    MAX_LENGTH,
    PlateFormat,
    kind_of,
)

BEAM_WIDTH = 12
CLASSES_TRIED = 8  # likeliest of a step; rarer ones do not make a candidate worth showing

Probs = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Candidates = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Reading:
    """What one plate's logits say.

    Attributes:
        raw_text: Best path: the likeliest class of each step, collapsed.
        character_scores: Per character of `raw_text`, the best probability among its steps.
        candidates: Up to five texts that have a plate format, best first, with the probability of
            the whole text; those of all texts there are, with a format or without, sum to 1.
    """

    raw_text: str
    character_scores: tuple[float, ...]
    candidates: Candidates


def decode(
    logits: Tensor, formats: Sequence[PlateFormat] | None = FORMATS, *, temperature: float = 1.0
) -> list[Reading]:
    """Read each plate by best path and by prefix beam search within the plate formats.

    Args:
        logits: float32 [N, classes, T], not softmaxed; the last class is the blank.
        formats: Layouts a candidate may have; None for any text of up to nine characters.
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
    lattices = probs.transpose(0, 2, 1)
    grammar = Grammar.free() if formats is None else Grammar.of(tuple(formats))
    return [
        Reading(*best_path(lattice), candidates=candidates)
        for lattice, candidates in zip(lattices, beam_search(lattices, grammar), strict=True)
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
    """Layouts as bits of a number: which of them a prefix can still become.

    Attributes:
        start: Every layout.
        after: int64 [MAX_LENGTH + 1, BLANK], the layouts that allow a class at a position.
        complete: int64 [MAX_LENGTH + 1], the layouts that end at a length.
    """

    start: int
    after: Ints
    complete: Ints

    @staticmethod
    @lru_cache(maxsize=8)
    def of(formats: tuple[PlateFormat, ...]) -> Grammar:
        """Compile plate formats, of 63 layouts at most."""
        layouts = [layout for plate_format in formats for layout in plate_format.layouts]
        lengths = range(MAX_LENGTH + 1)

        def mask(allowed: Iterable[bool]) -> int:
            return sum(1 << index for index, yes in enumerate(allowed) if yes)

        return Grammar(
            start=(1 << len(layouts)) - 1,
            after=np.array(
                [
                    [mask(layout[at : at + 1] == kind_of(char) for layout in layouts)
                     for char in ALPHABET]
                    for at in lengths
                ]
            ),
            complete=np.array([mask(len(layout) == n for layout in layouts) for n in lengths]),
        )  # fmt: skip

    @staticmethod
    @lru_cache(maxsize=1)
    def free() -> Grammar:
        """Allow any text of up to `MAX_LENGTH` characters."""
        after = np.ones((MAX_LENGTH + 1, BLANK), np.int64)
        after[MAX_LENGTH] = 0
        return Grammar(start=1, after=after, complete=np.ones(MAX_LENGTH + 1, np.int64))


@dataclass(frozen=True)
class _Beams:
    """The W prefixes kept of each of N plates, arrays [N, W]; a prefix of probability 0 is none.

    Attributes:
        code: The prefix as a number, its classes plus one being the digits; -1 for none.
        length: Characters of the prefix.
        last: Its last class, the blank's when it is empty.
        alive: The layouts it can still become.
        blank: Probability of the prefix with a blank as the last step.
        char: Probability of the prefix with a character as the last step.
    """

    code: Ints
    length: Ints
    last: Ints
    alive: Ints
    blank: Probs
    char: Probs

    @staticmethod
    def start(count: int, width: int, grammar: Grammar) -> _Beams:
        """One beam with the empty prefix a plate."""
        zeros, none = np.zeros((count, width), np.int64), np.zeros((count, width))
        first = np.zeros(width, np.int64)
        first[0] = 1
        return _Beams(
            code=zeros + first - 1,
            length=zeros,
            last=zeros + BLANK,
            alive=zeros + first * grammar.start,
            blank=none + first,
            char=none,
        )


def beam_search(lattices: Probs, grammar: Grammar, *, width: int = BEAM_WIDTH) -> list[Candidates]:
    """Find the likeliest texts that the grammar allows, summing over all their alignments.

    Args:
        lattices: [N, T, C] probabilities, the last class being the blank.
        grammar: What a text may be.
        width: Prefixes kept after each step.

    Returns:
        For each plate up to five complete texts, best first, each with its probability.
    """
    likely = np.argsort(-lattices[:, :, :BLANK], axis=2)[:, :, :CLASSES_TRIED]
    beams = _Beams.start(len(lattices), width, grammar)
    for step in range(lattices.shape[1]):
        beams = _extend(beams, lattices[:, step], likely[:, step], grammar)
    ended = beams.alive & grammar.complete[beams.length] != 0
    scores = np.where(ended, beams.blank + beams.char, 0.0)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :CANDIDATES]
    return [
        tuple((_text(code), score) for code, score in zip(codes, row, strict=True) if score > 0)
        for codes, row in zip(
            np.take_along_axis(beams.code, best, 1).tolist(),
            np.take_along_axis(scores, best, 1).tolist(),
            strict=True,
        )
    ]


def _extend(beams: _Beams, probs: Probs, likely: Ints, grammar: Grammar) -> _Beams:
    """Let every prefix stay or grow by one class, and keep the best of all.

    Args:
        beams: Prefixes before the step.
        probs: [N, C] probabilities of the step.
        likely: [N, K] classes tried.
        grammar: What a text may be.
    """
    plates, width = beams.code.shape
    flat = plates, width * likely.shape[1]
    rows, classes = np.arange(plates)[:, None], likely[:, None, :]
    total = beams.blank + beams.char
    blank = total * probs[:, BLANK, None]
    char = beams.char * probs[rows, beams.last]

    alive = beams.alive[:, :, None] & grammar.after[beams.length[:, :, None], classes]
    repeats = beams.last[:, :, None] == classes  # need a blank between
    before = np.where(repeats, beams.blank[:, :, None], total[:, :, None]) * (alive != 0)
    grown = (before * probs[rows, likely][:, None, :]).reshape(flat)
    codes = (beams.code[:, :, None] * (BLANK + 1) + classes + 1).reshape(flat)

    char = char + _merge(beams, codes, grown)
    scores = np.concatenate((blank + char, grown), axis=1)
    keep = np.argpartition(-scores, width - 1, axis=1)[:, :width]
    none = scores[rows, keep] == 0
    grew = keep >= width
    parent, child = np.divmod(np.maximum(keep - width, 0), likely.shape[1])
    parent = np.where(grew, parent, np.minimum(keep, width - 1))
    code = np.where(grew, codes[rows, keep - width], beams.code[rows, parent])
    return _Beams(
        code=np.where(none, -1, code),
        length=np.where(none, 0, beams.length[rows, parent] + grew),
        last=np.where(grew, likely[rows, child], beams.last[rows, parent]),
        alive=np.where(grew, alive[rows, parent, child], beams.alive[rows, parent]),
        blank=np.where(grew, 0.0, blank[rows, parent]),
        char=np.where(grew, grown[rows, keep - width], char[rows, parent]),
    )


def _merge(beams: _Beams, codes: Ints, grown: Probs) -> Probs:
    """Take from `grown` what leads to prefixes that are kept already; returns it, [N, W]."""
    known = (beams.code[:, :, None] == codes[:, None, :]) & (grown > 0)[:, None, :]
    taken: Probs = (known * grown[:, None, :]).sum(axis=2)
    grown[known.any(axis=1)] = 0.0
    return taken


def _text(code: int) -> str:
    """Spell a prefix."""
    text = ""
    while code > 0:
        code, digit = divmod(code, BLANK + 1)
        text = ALPHABET[digit - 1] + text
    return text
