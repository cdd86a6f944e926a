from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.host.toml_files import read_table, to_toml
from workshop.training.detector.detector_recipe import (
    DetectorData,
    DetectorRecipe,
    DetectorSchedule,
)
from workshop.training.reader.reader_recipe import (
    SHIPPED,
    ReaderData,
    ReaderRecipe,
    ReaderSchedule,
    TeacherPlan,
)


@pytest.mark.parametrize("kind", [DetectorRecipe, ReaderRecipe])
def test_the_shipped_recipe_says_the_defaults(kind) -> None:
    name = kind.__name__.removesuffix("Recipe").lower()
    assert read_table(kind, SHIPPED / f"{name}.toml") == kind()


@pytest.mark.parametrize("kind", [DetectorRecipe, ReaderRecipe])
def test_the_recipe_for_a_card_starts_from_the_shipped_weights_and_ends_by_the_clock(kind) -> None:
    name = kind.__name__.removesuffix("Recipe").lower()
    recipe = read_table(kind, SHIPPED / f"{name}_card.toml")
    assert recipe.start.exists()
    assert recipe.training.minutes == 10


def test_a_run_by_the_clock_is_done_when_its_minutes_are_over() -> None:
    schedule = ReaderSchedule(minutes=2, rate=1.0, warm_up=10)
    assert [schedule.done_at(7, spent_s) for spent_s in (0, 60, 120)] == [0, 0.5, 1]
    assert schedule.rate_at(0, 0) == pytest.approx(0.1)
    assert schedule.rate_at(10, 60) == pytest.approx(0.01 + 0.99 / 2)
    assert schedule.rate_at(99, 130) == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("minutes", "spent_s", "epochs"),
    [
        pytest.param(None, 300, 20, id="no clock"),
        pytest.param(10, 300, 15, id="five minutes left"),
        pytest.param(10, 605, 5, id="over"),
    ],
)
def test_a_detector_makes_the_epochs_that_its_minutes_allow(
    minutes: float | None, spent_s: float, epochs: int
) -> None:
    schedule = DetectorSchedule(minutes=minutes).replan(5, spent_s, epoch_s=30)
    assert schedule.epochs == epochs


def test_a_teacher_and_a_mean_want_a_start() -> None:
    for recipe in (
        ReaderRecipe(teacher=TeacherPlan(2)),
        ReaderRecipe(training=ReaderSchedule(means=(0.5,))),
    ):
        with pytest.raises(SettingsError, match=r"start: wanted weights .*\(--start\), got none"):
            recipe.check_start()


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(ReaderRecipe(training=ReaderSchedule(stn_rate=0.0)), id="no start"),
        pytest.param(ReaderRecipe(start=Path("weights")), id="STN is trained"),
    ],
)
def test_a_home_reader_wants_a_start_and_its_own_stn(recipe: ReaderRecipe) -> None:
    with pytest.raises(SettingsError, match=r"home: wanted weights to start from and .*stn_rate 0"):
        replace(recipe, home=Path("weights")).check_start()


def test_a_recipe_is_written_and_read_back(tmp_path: Path) -> None:
    recipe = DetectorRecipe(
        start=tmp_path / 'a "b".pt',
        data=DetectorData(tmp_path, (tmp_path / "one", tmp_path / "two")),
        training=DetectorSchedule(epochs=3, rate=5e-5),
    )
    (tmp_path / "recipe.toml").write_text(to_toml(recipe), encoding="utf-8")
    assert read_table(DetectorRecipe, tmp_path / "recipe.toml") == recipe


def test_paths_of_a_recipe_are_relative_to_it(tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text('[data]\ncrops = "crops"\nlabels = "labels.csv"\n')
    data = read_table(ReaderRecipe, recipe).data
    assert data == ReaderData(tmp_path / "crops", tmp_path / "labels.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "epochs = 3",
            "wanted some of start, home, formats, data, training, corners, teacher, got epochs",
        ),
        ("[training]\nstep = 3", r"\[training\] wanted some of steps, .*, got step"),
        ("training = 3", "training: wanted a table, got 3"),
        ("[training]\nsteps = 3.5", "steps: wanted a whole number, got 3.5"),
        ("[training]\nsteps = true", "steps: wanted a whole number, got True"),
        ('[training]\nrate = "fast"', "rate: wanted a number, got 'fast'"),
        ("[training]\nrate = nan", "rate: wanted 1e-09 to 1, got nan"),
        ("[training]\nextended = [8000]", "extended: wanted rising numbers from 1 to 7999, got"),
        ("[training]\nextended = [5, 5]", "extended: wanted rising numbers from 1 to 7999, got"),
        ("[training]\nworkers = -1", "workers: wanted 0 to 256, got -1"),
        ("[training]\nreal_share = 1.5", "real_share: wanted 0 to 1, got 1.5"),
        ("[data]\ncrops = 3", "crops: wanted a path, got 3"),
        ('[data]\ncrops = "crops"', "data: wanted crops and labels or neither"),
    ],
)
def test_a_wrong_recipe_is_an_error_that_names_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(SettingsError, match=r"mine\.toml: " + message):
        read_table(ReaderRecipe, tmp_path / "mine.toml")


def test_a_side_that_the_detector_cannot_take_is_refused() -> None:
    with pytest.raises(SettingsError, match="side_px: wanted a multiple of 32, got 650"):
        DetectorSchedule(side_px=650)


def test_an_extended_run_warms_up_again_and_falls_from_a_part_of_the_rate() -> None:
    whole = ReaderSchedule(steps=100, rate=1.0, warm_up=10)
    longer = replace(whole, steps=140, extended=(100,), extension_rate=0.5)
    assert [longer.rate_at(step) for step in (0, 50, 99)] == [
        whole.rate_at(step) for step in (0, 50, 99)
    ]
    assert longer.rate_at(100) == pytest.approx(0.125)  # first of 4 steps, a tenth of what is added
    assert longer.rate_at(104) == pytest.approx(0.5)
    assert longer.rate_at(122) == pytest.approx(0.5 * (0.01 + 0.99 / 2))
    assert longer.rate_at(140) == pytest.approx(0.005)


def test_a_detectors_extended_run_ends_in_whole_pictures_too() -> None:
    schedule = DetectorSchedule(epochs=6, extended=(4,), plain_epochs=1, warmup_epochs=0, rate=0.1)
    assert [epoch for epoch in range(6) if schedule.is_mosaic(epoch)] == [0, 1, 2, 4]
    assert schedule.rate_at(0, 10) == pytest.approx(0.1)
    assert schedule.rate_at(20, 10) == pytest.approx(0.1 * (0.05 + 0.95 / 2))
    assert schedule.rate_at(40, 10) == pytest.approx(0.03)
    assert schedule.rate_at(50, 10) == pytest.approx(0.03 * (0.05 + 0.95 / 2))
