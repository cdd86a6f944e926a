"""CTC decoding: from LPRNet's logits to readings.

Source: Graves et al. 2006 (CTC); Hannun et al. 2014 (prefix beam search).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from orchestrator.contract import Array
from orchestrator.errors import ModelError
from orchestrator.plates import CANDIDATES
from orchestrator.reading.grammar import Grammar

BEAM_WIDTH = 12
CLASSES_TRIED = 8  # likeliest classes of a step; rarer ones lead to no useful candidate
NEGLIGIBLE = 1e-6
"""Prefixes less likely than the likeliest one by this factor are dropped. So a plate with clear
characters takes a fourth of the time of a plate that is hard to read. Scores change by up to
0.00002."""

Probs = npt.NDArray[np.float64]
Candidates = tuple[tuple[str, float], ...]
Beam = tuple[float, str, int, int, float, float]
"""A prefix of texts: its probability; its characters; the class of the last one, -1 for none; the
layouts that it can still become, as bits; the parts of the probability whose last step is a blank,
and a character."""


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

    @cached_property
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
    paths, texts = best_paths(lattices, grammar.alphabet), beam_search(lattices, grammar)
    return [
        Reading(*path, candidates, lines) for path, candidates in zip(paths, texts, strict=True)
    ]


def softmax(logits: Probs) -> Probs:
    """Turn logits [N, C, T] into probabilities over the classes."""
    powers: Probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def collapse(classes: Iterable[int], blank: int) -> list[int]:
    """Merge repeats, then drop blanks."""
    return [c for c, _ in groupby(classes) if c != blank]


def best_paths(lattices: Probs, alphabet: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Collapse the likeliest class of each step.

    Args:
        lattices: [N, T, C] probabilities.
        alphabet: The characters of the classes before the blank.

    Yields:
        For each plate the text and, per character, the highest probability among the steps merged
        into it.
    """
    classes, probs = lattices.argmax(axis=2).tolist(), lattices.max(axis=2).tolist()
    for steps in map(zip, classes, probs):
        runs = [max(run) for _, run in groupby(steps, key=itemgetter(0))]  # all of one class
        chars = [(alphabet[c], p) for c, p in runs if c != len(alphabet)]
        yield "".join([char for char, _ in chars]), tuple([p for _, p in chars])


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
    likeliest = np.argsort(-lattices[:, :, :-1], axis=2)[:, :, :CLASSES_TRIED].tolist()
    negligible = (NEGLIGIBLE * lattices.max(axis=2)).tolist()
    candidates, every_layout = [], (1 << len(grammar.layouts)) - 1
    for steps in zip(lattices.tolist(), likeliest, negligible, strict=True):
        beams: list[Beam] = [(1.0, "", -1, every_layout, 1.0, 0.0)]
        for probs, classes, share in zip(*steps, strict=True):
            beams = _extend(beams, probs, classes, share, grammar)[:width]
        texts = [
            (total, text, layouts)
            for total, text, _, alive, _, _ in beams
            if (layouts := alive & grammar.complete[len(text)])
        ]
        candidates.append(weigh(texts, grammar)[:CANDIDATES])
    return candidates


def weigh(texts: Sequence[tuple[float, str, int]], grammar: Grammar) -> Candidates:
    """Make texts of unknown regions and of rare formats less likely, all others more likely.

    Bayes' rule: each probability is multiplied by its prior and divided by their sum. Probability
    that the search has lost on its way counts as texts of usual plates. So no score is too high.

    Args:
        texts: Probability, characters and layouts, as bits, of each text of a plate.
        grammar: The grammar with the regions, the rare formats, and their factors.

    Returns:
        The texts and their probabilities, best first.
    """
    priors = [grammar.prior_of(text, layouts) for _, text, layouts in texts]
    loss = sum(score * (1 - prior) for (score, _, _), prior in zip(texts, priors, strict=True))
    candidates = [
        (text, prior * score / (1 - loss))
        for (score, text, _), prior in zip(texts, priors, strict=True)
    ]
    return tuple(sorted(candidates, key=lambda candidate: -candidate[1]))


def _extend(
    beams: Sequence[Beam],
    probs: Sequence[float],
    likeliest: Sequence[int],
    negligible: float,
    grammar: Grammar,
) -> list[Beam]:
    """Let every prefix stay or grow by one class; return them all, the likeliest first.

    For the prefixes `A` (0.2 ending in a blank, 0.4 in the character) and empty (0.3, all blank),
    and a step of A 0.6, B 0.1, blank 0.3:

        A stays: a blank    (0.2 + 0.4) * 0.3 = 0.18, now ending in a blank
                 A again            0.4 * 0.6 = 0.24, merged into the same A
        A grows: AA                 0.2 * 0.6 = 0.12: only over a blank are there two
                 AB         (0.2 + 0.4) * 0.1 = 0.06
        empty stays                 0.3 * 0.3 = 0.09
              grows: A              0.3 * 0.6 = 0.18. `A` is kept already: this is added to its
                                                0.24. It is no new prefix.
                     B              0.3 * 0.1 = 0.03

    Args:
        beams: Prefixes before the step, the likeliest first.
        probs: Probability of each class.
        likeliest: The classes to grow by, the likeliest first.
        negligible: Classes that are less likely do not grow. Prefixes less likely than the
            likeliest one by this factor are dropped.
        grammar: The allowed texts.
    """
    min_prob = negligible * beams[0][0] if beams else 0.0
    alphabet, after = grammar.alphabet, grammar.after
    extended: dict[str, Beam] = {}
    for char in likeliest:
        prob = probs[char]
        if prob < negligible:
            break
        for total, text, last, alive, blank, _ in beams:
            if total * prob < min_prob:
                break
            if layouts := alive & after[len(text)][char]:
                grown, in_char = text + alphabet[char], (blank if char == last else total) * prob
                extended[grown] = in_char, grown, char, layouts, 0.0, in_char
    for total, text, last, alive, _, in_char in beams:
        blank, in_char = total * probs[-1], in_char * probs[last]
        if text in extended:
            in_char += extended[text][0]
        extended[text] = blank + in_char, text, last, alive, blank, in_char
    return sorted([beam for beam in extended.values() if beam[0] > min_prob], reverse=True)
