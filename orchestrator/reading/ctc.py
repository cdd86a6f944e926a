"""CTC decoding: from LPRNet's logits to readings.

Source: Graves et al. 2006 (CTC); Hannun et al. 2014 (prefix beam search).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.contract import Array
from orchestrator.errors import ModelError
from orchestrator.plates import CANDIDATES
from orchestrator.reading.grammar import Grammar, Ints

BEAM_WIDTH = 12
CLASSES_TRIED = 8  # likeliest classes of a step; rarer ones lead to no useful candidate

Probs = npt.NDArray[np.float64]
Candidates = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Reading:
    """The result of decoding one plate's logits.

    Attributes:
        raw_text: Best path: the likeliest class of each step, collapsed.
        character_scores: Per character of `raw_text`, the best probability among its steps.
        candidates: Up to five texts that have a plate format, best first, with their probabilities.
            Each is the probability of the whole text; a region that does not exist lowers it. The
            probabilities of all possible texts, with or without a format, sum to 1.
        lines: Lines of the plate in this reading, 1 or 2.
    """

    raw_text: str
    character_scores: tuple[float, ...]
    candidates: Candidates
    lines: int = 1

    @property
    def score(self) -> float:
        """The score of the best candidate; 0 without candidates."""
        return self.candidates[0][1] if self.candidates else 0.0


def decode(
    logits: Array, grammar: Grammar, *, temperature: float = 1.0, lines: int = 1
) -> list[Reading]:
    """Read each plate by best path, and by prefix beam search within a grammar.

    Args:
        logits: float32 [N, classes, T], not softmaxed; the last class is the blank.
        grammar: The allowed texts: `Grammar.of(formats)`, or `Grammar.free(alphabet)`.
        temperature: Divides the logits; above 1 for a network that is more certain than it is
            right.
        lines: Lines of the plates, as in the grammar.

    Returns:
        N readings in the order of the plates.

    Raises:
        ModelError: The logits have another number of classes or are not finite.
    """
    classes = len(grammar.alphabet) + 1
    if logits.ndim != 3 or logits.shape[1] != classes:
        raise ModelError(f"logits: wanted [N, {classes}, T], got {list(logits.shape)}")
    if not np.isfinite(logits).all():
        raise ModelError("logits: wanted finite numbers, got NaN or infinity")
    lattices = softmax(np.asarray(logits, np.float64) / temperature).transpose(0, 2, 1)
    return [
        Reading(*best_path(lattice, grammar.alphabet), candidates, lines)
        for lattice, candidates in zip(lattices, beam_search(lattices, grammar), strict=True)
    ]


def softmax(logits: Probs) -> Probs:
    """Turn logits [N, C, T] into probabilities over the classes."""
    powers: Probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def collapse(classes: Iterable[int], blank: int) -> list[int]:
    """Merge repeats, then drop blanks."""
    return [c for c, _ in groupby(classes) if c != blank]


def best_path(lattice: Probs, alphabet: str) -> tuple[str, tuple[float, ...]]:
    """Collapse the likeliest class of each step.

    Args:
        lattice: [T, C] probabilities.
        alphabet: The characters of the classes before the blank.

    Returns:
        The text and, per character, the highest probability among the steps merged into it.
    """
    steps = zip(lattice.argmax(axis=1).tolist(), lattice.max(axis=1).tolist(), strict=True)
    runs = [(c, max(p for _, p in run)) for c, run in groupby(steps, key=lambda step: step[0])]
    chars = [(alphabet[c], p) for c, p in runs if c != len(alphabet)]
    return "".join(char for char, _ in chars), tuple(p for _, p in chars)


@dataclass(frozen=True)
class _Beams:
    """The W prefixes kept for each of N plates, as arrays [N, W]; probability 0 means no prefix.

    Attributes:
        code: The prefix as a number, whose digits are its classes plus one; -1 for none.
        alive: The layouts that it can still become.
        blank: Probability of the prefix with a blank as the last step.
        char: Probability of the prefix with a character as the last step.
    """

    code: Ints
    alive: Ints
    blank: Probs
    char: Probs

    @staticmethod
    def start(count: int, width: int, grammar: Grammar) -> _Beams:
        """Return one beam for each plate, with the empty prefix."""
        zeros, none = np.zeros((count, width), np.int64), np.zeros((count, width))
        first = np.zeros(width, np.int64)
        first[0] = 1
        return _Beams(zeros + first - 1, zeros + first * grammar.start, none + first, none)


def beam_search(lattices: Probs, grammar: Grammar, *, width: int = BEAM_WIDTH) -> list[Candidates]:
    """Find the likeliest texts that the grammar allows; sums over all alignments of each text.

    Args:
        lattices: [N, T, C] probabilities, the last class being the blank.
        grammar: The allowed texts.
        width: Prefixes kept after each step.

    Returns:
        For each plate up to five complete texts, best first, each with its probability; the
        grammar's regions and rare formats are part of it.
    """
    beams = _Beams.start(len(lattices), width, grammar)
    tried = min(CLASSES_TRIED, grammar.blank)
    plate = np.arange(len(lattices)).repeat(width).reshape(-1, width)
    parents = np.arange(beams.code.size).reshape(-1, width).repeat(tried, axis=1)
    for step in _steps_of(lattices, width):
        beams = _extend(beams, step, plate, parents, grammar)
    layouts = beams.alive & grammar.complete[grammar.lengths_of(beams.code)]
    scores = np.where(layouts != 0, beams.blank + beams.char, 0.0)
    scores = weigh(scores, beams.code, layouts, grammar)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :CANDIDATES]
    codes = np.take_along_axis(beams.code, best, 1).tolist()
    scores = np.take_along_axis(scores, best, 1).tolist()
    return [
        tuple((_spell(code, grammar.alphabet), score) for code, score in pairs if score > 0)
        for pairs in map(zip, codes, scores)
    ]


def weigh(scores: Probs, texts: Ints, layouts: Ints, grammar: Grammar) -> Probs:
    """Make texts of unknown regions and of rare formats less likely, all others more likely.

    Bayes' rule: each probability is multiplied by its prior and divided by their sum. Probability
    that the search has lost on its way counts as texts of usual plates. So no score is too high.

    Args:
        scores: Probabilities [N, W] of texts; those of one plate sum to 1 at most.
        texts: Texts [N, W], as numbers.
        layouts: Layouts [N, W] of each text, as bits; 0 for none.
        grammar: The grammar with the regions, the rare formats, and their factors.
    """
    if grammar.unknown_factor == 1 and not grammar.rare:
        return scores
    priors = grammar.priors_of(texts, layouts)
    lost = (scores * (1 - priors)).sum(axis=1, keepdims=True)
    weighed: Probs = priors * scores / (1 - lost)
    return weighed


class _Step(NamedTuple):
    """One step of N plates, repeated for the W prefixes of each; a prefix grows by K classes.

    Attributes:
        probs: Probability of each class, [N, C].
        blank: Probability of the blank, [N, W].
        digits: The likeliest K classes plus one, [N, W * K].
        likely: Their probabilities, [N, W * K].
    """

    probs: Probs
    blank: Probs
    digits: Ints
    likely: Probs


def _steps_of(lattices: Probs, width: int) -> Iterator[_Step]:
    """Return the steps of lattices [N, T, C]."""
    steps = np.ascontiguousarray(lattices.swapaxes(0, 1))
    classes = np.argsort(-steps[:, :, :-1], axis=2)[:, :, :CLASSES_TRIED]
    likely = np.take_along_axis(steps, classes, axis=2)
    digits, likely = np.tile(classes + 1, width), np.tile(likely, width)
    return map(_Step, steps, steps[:, :, -1:].repeat(width, axis=2), digits, likely)


def _extend(beams: _Beams, step: _Step, plate: Ints, parents: Ints, grammar: Grammar) -> _Beams:
    """Let every prefix stay or grow by one class; keep the best of them all.

    For one plate, the prefixes `A` (0.2 ending in a blank, 0.4 in the character) and empty (0.3,
    all blank), and a step of A 0.6, B 0.1, blank 0.3:

        A stays: a blank    (0.2 + 0.4) * 0.3 = 0.18, now ending in a blank
                 A again            0.4 * 0.6 = 0.24, merged into the same A
        A grows: AA                 0.2 * 0.6 = 0.12: only over a blank are there two
                 AB         (0.2 + 0.4) * 0.1 = 0.06
        empty stays                 0.3 * 0.3 = 0.09
              grows: A              0.3 * 0.6 = 0.18. `A` is kept already: `_merge` adds this
                                                to its 0.24. It is no new prefix.
                     B              0.3 * 0.1 = 0.03

    NumPy is slow where it repeats short rows. So all arrays are repeated to [N, W * K] by index.

    Args:
        beams: Prefixes before the step, arrays [N, W].
        step: The probabilities of the step.
        plate: The plate of each prefix, [N, W].
        parents: Index in [N, W] of the prefix that grows, [N, W * K].
        grammar: The allowed texts.
    """
    width, base = beams.code.shape[1], grammar.blank + 1
    last = beams.code % base  # [N, W]; the class plus one, 0 for the empty prefix
    total = beams.blank + beams.char  # [N, W]
    blank = total * step.blank  # [N, W]
    char = beams.char * step.probs.take(base * plate + last - 1)  # [N, W]

    places = (grammar.lengths_of(beams.code) * base).take(parents) + step.digits  # [N, W * K]
    alive = beams.alive.take(parents) & grammar.after_digits.take(places)
    codes = (beams.code * base).take(parents) + step.digits
    repeats = last.take(parents) == step.digits  # these need a blank between
    grown = np.where(repeats, beams.blank.take(parents), total.take(parents)) * step.likely
    grown[alive == 0] = 0.0

    _merge(beams.code, char, codes, grown)
    codes[grown == 0] = -1
    chars = np.concatenate((char, grown), axis=1)  # [N, W + W * K]: stay, then grow
    blanks = np.concatenate((blank, np.zeros(grown.shape)), axis=1)
    best = (-(blanks + chars)).argpartition(width - 1, axis=1)[:, :width]  # [N, W], and all below
    keep = plate * chars.shape[1] + best
    return _Beams(
        code=np.concatenate((beams.code, codes), axis=1).take(keep),
        alive=np.concatenate((beams.alive, alive), axis=1).take(keep),
        blank=blanks.take(keep),
        char=chars.take(keep),
    )


def _merge(kept: Ints, char: Probs, codes: Ints, grown: Probs) -> None:
    """Move the probability of grown prefixes that are kept already to these, in place.

    Args:
        kept: Codes of the kept prefixes, [N, W].
        char: Their probabilities with a character as the last step, [N, W].
        codes: Codes of the grown prefixes, [N, G].
        grown: Their probabilities, [N, G]; 0 replaces those that are moved.
    """
    width, count = kept.shape[1], codes.shape[1]
    known = np.flatnonzero(kept[:, :, None] == codes[:, None, :])  # in [N, W, G]
    beam = known // count
    grew = known + (beam // width - beam) * count
    char.reshape(-1)[beam] += grown.take(grew)
    grown.reshape(-1)[grew] = 0.0


def _spell(code: int, alphabet: str) -> str:
    """Return the characters of a prefix."""
    text = ""
    while code > 0:
        code, digit = divmod(code, len(alphabet) + 1)
        text = alphabet[digit - 1] + text
    return text
