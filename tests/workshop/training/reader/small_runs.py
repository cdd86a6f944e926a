"""Trainings of the reader that take seconds, and made-up crops for them."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from workshop.training.reader.reader_recipe import (
    CornerSchedule,
    ReaderData,
    ReaderRecipe,
    ReaderSchedule,
)
from workshop.training.reader.reader_trainer import ReaderTrainer
from workshop.training.reader.reader_training import run

FEW_CORNERS = CornerSchedule(steps=2, plates=3, batch=2, warm_up=1)
QUICK = ReaderSchedule(
    steps=4,
    batch=4,
    real_share=0.5,
    pool=6,
    typical=4,
    checked=2,
    warm_up=1,
    save_every=2,
    calibrated=6,
)
ONE_STEP = replace(QUICK, steps=1)

Finished = tuple[ReaderData, Path]
"""The data and the folder of a finished run."""


def quick(data: ReaderData, training: ReaderSchedule = QUICK) -> ReaderRecipe:
    return ReaderRecipe(data=data, training=training, corners=FEW_CORNERS)


def write_crops(folder: Path, text: str = "A{:03d}AA77") -> ReaderData:
    """Write twelve made-up crops of twelve photos, one of which is held out."""
    picture = np.random.default_rng(0).integers(0, 255, (56, 220, 3)).astype(np.uint8)
    rows = ["crop,text"]
    for number in range(1, 13):
        cv2.imwrite(str(folder / f"{number}_1.png"), picture)
        rows.append(f"{number}_1.png,{text.format(number)}")
    (folder / "labels.csv").write_text("\n".join(rows))
    return ReaderData(folder, folder / "labels.csv")


def interrupt_at(step: int, recipe: ReaderRecipe, out: Path) -> None:
    """Begin a run, and break it off before a step."""

    def interrupt(
        trainer: ReaderTrainer, batch: object, train_on: object = ReaderTrainer.train_on
    ) -> float:
        if trainer.step == step:
            raise KeyboardInterrupt
        return train_on(trainer, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReaderTrainer, "train_on", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(recipe, out, resume=False)
