"""Compares how many labelled plates the servers of two commits read."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.client import PlateClient
from orchestrator.formats.plate_formats import RUSSIA
from orchestrator.plates import Plates
from workshop.benchmarks.service import Service
from workshop.evaluation.datasets import BAD, Scene, read_scenes
from workshop.evaluation.outcomes import READ, WRONG, judge
from workshop.evaluation.pairing import mcnemar_exact
from workshop.rendering.country import country_of
from workshop.rendering.scenes import draw_pictures, write_pictures

BASE, HEAD = SIDES = ("base", "head")
OUTPUTS = ("coordinates", "texts")
RENDERED = "rendered"


@dataclass(frozen=True)
class LabelledSet:
    """Labelled pictures under one name."""

    name: str
    scenes: tuple[Scene, ...]


@dataclass(frozen=True)
class PairedShare:
    """The share of plates for which something is true, at two commits.

    Attributes:
        base: The number for which it is true at the base; likewise `head`.
        only_base: The number for which it is true at the base alone; likewise `only_head`.
    """

    plates: int
    base: int
    head: int
    only_base: int
    only_head: int

    @property
    def difference(self) -> float:
        """The share at the head less the share at the base."""
        return (self.head - self.base) / self.plates

    @property
    def p_value(self) -> float:
        return mcnemar_exact(self.only_head, self.only_base)


@dataclass(frozen=True)
class Accuracy:
    """The answers of two commits for one labelled set.

    Attributes:
        changed: The number of pictures with other texts at the head than at the base.
        read: The share of the plates that are read.
        wrong: The share of the plates for which another text is shown.
    """

    name: str
    pictures: int
    changed: int
    read: PairedShare
    wrong: PairedShare


@dataclass(frozen=True)
class JudgedAnswer:
    """The answer for one picture: all texts in it, and the verdict for each labelled plate."""

    texts: tuple[str, ...]
    verdicts: tuple[str, ...]


def render_set(folder: Path, count: int, seed: int) -> None:
    """Render pictures of one plate each, of all kinds, the same ones for the same seed.

    The folder appears when it is complete.

    Args:
        folder: A new folder for the pictures and their labels.
        count: The number of pictures.
        seed: The seed.
    """
    with tempfile.TemporaryDirectory(dir=folder.parent) as part:
        complete = Path(part, "set")
        write_pictures(complete, draw_pictures(country_of(RUSSIA), count, seed))
        complete.rename(folder)


def read_set(folder: Path) -> LabelledSet:
    """Read a folder with `images/` and `labels.csv`.

    Raises:
        DataError: Data is missing or malformed; the message names the file and the line.
    """
    return LabelledSet(folder.name, tuple(read_scenes(folder)))


def compare_answers(labelled_set: LabelledSet, services: Mapping[str, Service]) -> Accuracy:
    """Let both servers, one after the other, read a set.

    One call at a time: batches of calls may change the last digit of a score.
    """
    answers = {
        side: _read(labelled_set.scenes, service.gateway.http) for side, service in services.items()
    }
    return pair_answers(labelled_set.name, answers[BASE], answers[HEAD])


def _read(scenes: Sequence[Scene], address: str) -> list[JudgedAnswer]:
    with PlateClient(address) as client:
        return [_judge(scene, client.recognize(scene.path, outputs=OUTPUTS)) for scene in scenes]


def _judge(scene: Scene, plates: Plates) -> JudgedAnswer:
    outcomes = [outcome for outcome in judge(scene, plates) if outcome.label.type != BAD]
    return JudgedAnswer(
        tuple(plate.text for plate in plates), tuple(outcome.verdict for outcome in outcomes)
    )


def pair_answers(name: str, base: Sequence[JudgedAnswer], head: Sequence[JudgedAnswer]) -> Accuracy:
    """Compare the answers of two commits, picture by picture, in the same order."""
    before = [verdict for answer in base for verdict in answer.verdicts]
    after = [verdict for answer in head for verdict in answer.verdicts]
    return Accuracy(
        name=name,
        pictures=len(head),
        changed=sum(old.texts != new.texts for old, new in zip(base, head, strict=True)),
        read=_pair([verdict == READ for verdict in before], [verdict == READ for verdict in after]),
        wrong=_pair(
            [verdict == WRONG for verdict in before], [verdict == WRONG for verdict in after]
        ),
    )


def _pair(base: Sequence[bool], head: Sequence[bool]) -> PairedShare:
    pairs = [*zip(base, head, strict=True)]
    return PairedShare(
        plates=len(pairs),
        base=sum(base),
        head=sum(head),
        only_base=pairs.count((True, False)),
        only_head=pairs.count((False, True)),
    )
