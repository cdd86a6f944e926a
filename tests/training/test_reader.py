from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from orchestrator.errors import SettingsError, WeightsError
from orchestrator.formats import russian
from orchestrator.networks.export import load
from rendering.synth import Sample, samples
from training import reader
from training.pools import (
    UNKNOWN_CORNERS,
    Pool,
    RealCrop,
    cut_real,
    inner_box,
    read_crops,
    read_texts,
    to_input,
    to_targets,
)
from training.reader import accuracy, best_path, cut_exactly, read, run, split
from training.recipes import CornerSchedule, ReaderData, ReaderRecipe, ReaderSchedule
from training.starts import CONTEXT, adapted, start
from training.trainer import Reader, Trainer, plain_weights, settle

FEW_CORNERS = CornerSchedule(steps=2, plates=3, batch=2, warm_up=1)
WEIGHTS = Path(__file__).parents[2] / "weights"
RUSSIAN = russian()
ALPHABET = RUSSIAN.alphabet
QUICK = ReaderSchedule(
    steps=3,
    batch=4,
    real_share=0.5,
    pool=6,
    typical=4,
    checked=2,
    warm_up=1,
    save_every=2,
)


def quick(data: ReaderData) -> ReaderRecipe:
    return ReaderRecipe(data=data, training=QUICK, corners=FEW_CORNERS)


def real_crop(name: str, text: str) -> RealCrop:
    picture = np.random.default_rng(0).integers(0, 255, (56, 220, 3)).astype(np.uint8)
    return RealCrop(name, picture, text)


def test_input_is_rgb_from_minus_one_to_one() -> None:
    crops = np.zeros((1, 24, 94, 3), np.uint8)
    crops[..., 2] = 255  # red in BGR
    tensor = to_input(crops)
    assert tensor.shape == (1, 3, 24, 94)
    assert tensor[0, :, 0, 0].tolist() == [127.5 / 128, -127.5 / 128, -127.5 / 128]


def test_targets_are_classes_in_one_row() -> None:
    classes, lengths = to_targets(["A1", "X"], ALPHABET)
    assert classes.tolist() == [10, 1, 21]
    assert lengths.tolist() == [2, 1]


def test_best_path_merges_repeats_and_drops_blanks() -> None:
    path = [10, 10, 22, 1, 22, 1, 22]  # A A - 1 - 1 -
    logits = torch.nn.functional.one_hot(torch.tensor([path]), 23).float().transpose(1, 2)
    assert best_path(logits, ALPHABET) == ["A11"]


def numbered(rng: np.random.Generator) -> Sample:
    """A sample whose text tells what its random numbers were."""
    return Sample(np.zeros((24, 94, 3), np.uint8), str(rng.integers(10**9)), UNKNOWN_CORNERS)


def test_a_pool_replaces_its_oldest_samples() -> None:
    pool = Pool(numbered, size=4, count=100, seed=0)  # 25 new ones with every draw
    first, second = ({one.text for one in pool.draw()} for _ in range(2))
    assert len(first) == len(second) == 4
    assert not first & second


def test_a_pool_that_begins_later_gives_what_it_would_have_given() -> None:
    whole = Pool(numbered, size=6, count=8, seed=3)
    draws = [[one.text for one in whole.draw()] for _ in range(5)]
    later = Pool(numbered, size=6, count=8, seed=3, step=3)
    assert [[one.text for one in later.draw()] for _ in range(2)] == draws[3:]


def test_labels_without_votes_or_format_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / "drafts.csv"
    rows = ["1_1.png,A123BC77,9", "2_1.png,A123BC77,6", "3_1.png,A123,9"]
    table.write_text("\n".join(["crop,draft_text,votes_of_9", *rows]))
    assert read_texts(table, 7, RUSSIAN) == {"1_1.png": "A123BC77"}


def test_labels_need_no_votes(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("crop,text\n1_1.png,A123BC77\n2_1.png,\n")
    assert read_texts(table, 7, RUSSIAN) == {"1_1.png": "A123BC77"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("file,text\n1.png,A123BC77\n", id="column"),
        pytest.param("crop,draft_text,votes_of_9\n1.png,A123BC77,many\n", id="votes"),
    ],
)
def test_a_table_of_other_columns_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(SettingsError, match=r"labels.csv: wanted a CSV of crop,text"):
        read_texts(tmp_path / "labels.csv", 7, RUSSIAN)


def test_crops_are_read_in_order(tmp_path: Path) -> None:
    for name in ("2_1.png", "1_1.png"):
        cv2.imwrite(str(tmp_path / name), np.zeros((20, 60, 3), np.uint8))
    crops = read_crops(tmp_path, {"2_1.png": "A123BC77", "1_1.png": "B123BC77"})
    assert [crop.text for crop in crops] == ["B123BC77", "A123BC77"]


def test_a_missing_crop_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"1_1\.png: wanted a picture, got none"):
        read_crops(tmp_path, {"1_1.png": "A123BC77"})


def test_the_inner_box_leaves_the_margins() -> None:
    # 100 x 50 plate with 5 % of its width and 20 % of its height on each side
    assert inner_box(np.zeros((70, 110, 3), np.uint8)) == pytest.approx([5, 10, 105, 60])


def test_a_real_crop_is_cut_differently_each_time() -> None:
    rng, crop = np.random.default_rng(0), real_crop("1_1.png", "A123BC77")
    first, second = cut_real(rng, crop), cut_real(rng, crop)
    assert first.shape == second.shape == (24, 94, 3)
    assert (first != second).any()
    assert cut_exactly([crop]).shape == (1, 24, 94, 3)


def test_a_plate_kept_for_validation_is_in_no_training_photo() -> None:
    names = [("11_1.png", "A111AA11"), ("12_1.png", "A111AA11"), ("13_1.png", "B222BB22")]
    training, held_out = split([real_crop(name, text) for name, text in names])
    assert [crop.name for crop in held_out] == ["11_1.png"]
    assert [crop.name for crop in training] == ["13_1.png"]


def test_photos_without_a_number_are_held_out_too() -> None:
    crops = [real_crop(f"photo{n}_1.png", f"A{n}AA11") for n in range(100, 300)]
    training, held_out = split(crops)
    assert len(training) + len(held_out) == 200
    assert 5 < len(held_out) < 40


def test_the_rate_warms_up_and_falls() -> None:
    schedule = ReaderSchedule(steps=100, rate=1.0, warm_up=10)
    assert schedule.rate_at(0) == pytest.approx(0.1)
    assert schedule.rate_at(10) == pytest.approx(1.0)
    assert schedule.rate_at(100) == pytest.approx(0.01)


def test_a_few_steps_lower_the_loss_and_a_checkpoint_brings_them_back(tmp_path: Path) -> None:
    batch = samples(4, seed=0)
    trainer = Trainer(ReaderSchedule(steps=20, warm_up=1, rate=2e-3), RUSSIAN)
    losses = [trainer.train_on(batch) for _ in range(5)]
    assert losses[-1] < losses[0]
    trainer.save(tmp_path)
    again = Trainer(ReaderSchedule(), RUSSIAN)
    again.load(tmp_path / "checkpoint.pt")
    assert again.step == 5
    assert read(again.reader, batch.crops, ALPHABET) == read(trainer.reader, batch.crops, ALPHABET)
    stn = torch.load(tmp_path / "stn.pth", weights_only=True)
    assert stn.keys() == again.reader.stn.state_dict().keys()


def test_plain_weights_have_no_subnormal_numbers() -> None:
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1e-39, 0.5]]))
    assert plain_weights(layer)["weight"].tolist() == [[0.0, 0.5]]


def test_accuracy_counts_texts_read_exactly() -> None:
    class Fixed(torch.nn.Module):
        def forward(self, crops: torch.Tensor) -> tuple[torch.Tensor, None]:
            path = torch.tensor([[10, 1, 22]]).expand(len(crops), 3)
            return torch.nn.functional.one_hot(path, 23).transpose(1, 2), None

    crops = np.zeros((2, 24, 94, 3), np.uint8)
    assert accuracy(Fixed(), crops, ["A1", "A11"], ALPHABET) == 0.5


@pytest.fixture
def data(tmp_path: Path) -> ReaderData:
    """Twelve made-up crops of twelve photos, one of which is held out."""
    crops = [real_crop(f"{n}_1.png", f"A{n:03d}AA77") for n in range(1, 13)]
    for crop in crops:
        cv2.imwrite(str(tmp_path / crop.name), crop.picture)
    rows = [f"{crop.name},{crop.text}" for crop in crops]
    (tmp_path / "labels.csv").write_text("\n".join(["crop,text", *rows]))
    return ReaderData(tmp_path, tmp_path / "labels.csv")


def test_a_resumed_run_is_the_same_as_one_without_a_break(tmp_path: Path, data) -> None:
    recipe = quick(data)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(recipe, whole, resume=False)

    def interrupt(trainer: Trainer, batch: object, step: object = Trainer.train_on) -> float:
        if trainer.step == 2:
            raise KeyboardInterrupt
        return step(trainer, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "train_on", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(recipe, broken, resume=False)
    run(recipe, broken, resume=True)
    first, second = (
        torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (whole, broken)
    )
    assert first["step"] == second["step"] == 3
    torch.testing.assert_close(second["reader"], first["reader"], rtol=0, atol=0)
    torch.testing.assert_close(second["average"], first["average"], rtol=0, atol=0)


def test_a_runs_folder_can_be_served_from(tmp_path: Path, data) -> None:
    run(quick(data), tmp_path / "run", resume=False)
    assert sum(1 for name in ("yolo", "stn", "lprnet") if load(name, tmp_path / "run")) == 3


def test_a_fine_tuning_begins_with_the_weights_it_is_given(tmp_path: Path, data) -> None:
    slow = replace(QUICK, rate=1e-9, steps=1)
    run(ReaderRecipe(WEIGHTS, data, slow), tmp_path / "run", resume=False)
    tuned = torch.load(tmp_path / "run" / "lprnet.pth", weights_only=True)
    given = torch.load(WEIGHTS / "lprnet.pth", weights_only=True)
    torch.testing.assert_close(
        tuned["container.weight"], given["container.weight"], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(
    ("weights", "share", "taught"),
    [
        pytest.param(None, 0.5, True, id="from random weights"),
        pytest.param(WEIGHTS, 0.5, False, id="fine-tuning"),
        pytest.param(None, 1, False, id="no rendered plates"),
    ],
)
def test_stn_learns_the_corners_first_where_it_knows_none(
    tmp_path: Path,
    data: ReaderData,
    monkeypatch: pytest.MonkeyPatch,
    weights: Path | None,
    share: float,
    taught: bool,
) -> None:
    lessons: list[CornerSchedule] = []
    monkeypatch.setattr(reader, "teach_corners", lambda *given: lessons.append(given[2]))
    schedule = replace(QUICK, real_share=share, steps=1)
    run(ReaderRecipe(weights, data, schedule, FEW_CORNERS), tmp_path / "run", resume=False)
    assert lessons == [FEW_CORNERS] * taught


def test_weights_of_a_published_checkpoint_can_be_started_from(tmp_path: Path) -> None:
    for name in ("stn.pth", "lprnet.pth"):
        state = torch.load(WEIGHTS / name, weights_only=True)
        torch.save({"epoch": 3, "net_state_dict": state}, tmp_path / name)
    fresh = Reader(23)
    start(fresh.stn, fresh.lprnet, tmp_path, ALPHABET)
    assert torch.equal(fresh.lprnet.container.weight, state["container.weight"])


def test_weights_of_something_else_are_refused(tmp_path: Path) -> None:
    fresh = Reader(23)
    with pytest.raises(WeightsError, match=r"stn.pth: wanted a readable file, got"):
        start(fresh.stn, fresh.lprnet, tmp_path, ALPHABET)
    for name in ("stn.pth", "lprnet.pth"):
        torch.save({"weight": torch.zeros(2)}, tmp_path / name)
    with pytest.raises(WeightsError, match="wanted weights of STN, got others"):
        start(fresh.stn, fresh.lprnet, tmp_path, ALPHABET)


def test_another_alphabet_keeps_the_rows_of_shared_characters_and_the_blank() -> None:
    state = {"container.bias": torch.tensor([0.0, 1, 2]), "backbone.0.bias": torch.tensor([9.0])}
    fresh = {"container.bias": torch.tensor([-1.0, -2, -3, -4]), "backbone.0.bias": torch.zeros(1)}
    result = adapted(state, fresh, "AB", "BCA")
    assert result["container.bias"].tolist() == [1, -2, 0, 2]
    assert result["backbone.0.bias"].tolist() == [9]


def test_another_alphabet_keeps_columns_of_shared_characters_too() -> None:
    state = {"container.weight": torch.arange(3.0 * (CONTEXT + 3)).view(3, CONTEXT + 3, 1, 1)}
    fresh = {"container.weight": torch.full((3, CONTEXT + 3, 1, 1), -1.0)}
    result = adapted(state, fresh, "AB", "XB")["container.weight"][..., 0, 0]
    given = state["container.weight"][..., 0, 0]
    assert (result[0] == -1).all()
    assert torch.equal(result[1, :CONTEXT], given[1, :CONTEXT])
    assert result[1, CONTEXT:].tolist() == [-1, *given[1, CONTEXT + 1 :].tolist()]


def test_real_plates_alone_need_crops() -> None:
    recipe = ReaderRecipe(training=replace(QUICK, real_share=1))
    with pytest.raises(SettingsError, match="wanted crops and labels for a share of 1"):
        run(recipe, Path("nowhere"), resume=False)


def test_plates_of_another_alphabet_cannot_be_rendered(data, tmp_path: Path) -> None:
    formats = tmp_path / "formats.toml"
    formats.write_text(
        'alphabet = "0123456789AZ"\n[[format]]\nname = "mine"\nlayouts = ["LDDDLLDD"]'
    )
    with pytest.raises(SettingsError, match="rendered plates: wanted the alphabet of Russian"):
        run(quick(data), Path("nowhere"), formats=formats, resume=False)


def test_a_loss_that_is_no_number_stops_the_training() -> None:
    trainer = Trainer(QUICK, RUSSIAN)
    with torch.no_grad():
        trainer.reader.lprnet.container.bias.fill_(float("nan"))
    with pytest.raises(SettingsError, match="step 0: wanted a finite loss, got nan"):
        trainer.train_on(samples(2, seed=0))


@pytest.mark.gpu
def test_a_training_on_the_gpu_goes_on_anywhere(tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    batch = samples(4, seed=0)
    schedule = ReaderSchedule(steps=20, warm_up=1, rate=2e-3)
    trainer = Trainer(schedule, RUSSIAN, torch.device("cuda"))
    losses = [trainer.train_on(batch) for _ in range(5)]
    assert losses[-1] < losses[0]
    trainer.save(tmp_path)
    again = Trainer(schedule, RUSSIAN)
    again.load(tmp_path / "checkpoint.pt")
    again.train_on(batch)
    assert again.step == 6
    assert {tensor.device.type for tensor in again.reader.state_dict().values()} == {"cpu"}
    assert len(read(trainer.averaged, batch.crops, ALPHABET)) == 4


def test_settling_takes_the_statistics_of_the_crops_given() -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Dropout(0.5))
    network[0].running_mean.fill_(9.0)
    crops = torch.randn(64, 3, 24, 94) * 2 + 1
    settle(network, crops, batch=16)
    assert not network.training
    assert network[0].running_mean.tolist() == pytest.approx([1.0] * 3, abs=0.05)
    assert network[0].running_var.tolist() == pytest.approx([4.0] * 3, abs=0.1)
    assert network[0].momentum == 0.1
