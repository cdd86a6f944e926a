import numpy as np
import pytest

from orchestrator.reading.reader import Reader
from orchestrator.settings import Settings
from orchestrator.triton import stages
from orchestrator.triton.stages import STAGES, Stopwatch


class TickingClock:
    """A clock that tells the next second each time it is looked at."""

    def __init__(self) -> None:
        self.now = -1.0

    def perf_counter(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def watch(monkeypatch) -> Stopwatch:
    monkeypatch.setattr(stages, "time", TickingClock())
    return Stopwatch(lambda model, tensors: tensors)


def run_networks(watch: Stopwatch, *models: str) -> Stopwatch:
    for model in models:
        assert watch(model, {"a": model}) == {"a": model}
    watch.finish()
    return watch


def test_every_stage_of_a_read_plate_has_its_time(watch) -> None:
    watch.lap("picture")
    run_networks(watch, "yolo", "stn", "lprnet")
    assert watch.seconds == dict.fromkeys(STAGES, 1.0) | {"crops": 2.0}
    assert "lprnet" in watch.seconds


def test_stages_that_were_not_needed_took_no_time(watch) -> None:
    watch("yolo", {})
    assert watch.finish().tolist() == [0, 1, 1, 1, 0, 0, 0]


def test_without_a_plate_the_rest_is_nms(watch) -> None:
    assert run_networks(watch, "yolo").seconds == {"letterbox": 1.0, "yolo": 1.0, "crops": 1.0}
    assert "lprnet" not in watch.seconds


def test_chunks_of_many_plates_add_up(watch) -> None:
    seconds = run_networks(watch, "yolo", "stn", "stn", "lprnet", "lprnet").seconds
    assert seconds["stn"] == seconds["lprnet"] == 2.0


def test_texts_are_decoded_between_the_networks_of_improvements(watch) -> None:
    watch = Stopwatch(lambda model, tensors: {"output__0": np.zeros((1, 24, 18), np.float32)})
    reader = Reader.of(watch, Settings())
    for _ in range(3):  # a first reading, and two improvements of it
        watch("stn", {})
        reader.decode(reader.lprnet(np.zeros((1, 3, 24, 94), np.float32)))
    watch.finish()
    assert watch.seconds == {"crops": 9.0, "stn": 3.0, "lprnet": 3.0, "texts": 4.0}


def test_the_stages_are_the_whole_time(watch) -> None:
    run_networks(watch, "yolo", "stn", "lprnet")
    assert sum(watch.seconds.values()) == watch.total_s == 7.0
