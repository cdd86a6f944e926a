from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.formats.plate_formats import Formats, PlateFormat, russian
from orchestrator.host.canary import read_canary
from orchestrator.networks.weights import WEIGHTS
from orchestrator.reading import second_pass, third_pass
from orchestrator.reading.reader import SURE_FROM, UNREADABLE_BELOW
from orchestrator.settings import Settings
from orchestrator.triton.warm_up import warm_up


def test_every_step_of_the_pipeline_is_taken() -> None:
    plates = warm_up(Settings(detection_threshold=1.0), russian(), read_canary(None).file)
    assert [len(plate.corners) for plate in plates] == [4, 4]
    assert [plate.text for plate in plates] == ["", ""]
    first, square = plates
    assert first.corners != square.corners


@pytest.mark.parametrize(
    "formats",
    [
        pytest.param(russian(), id="russia"),
        pytest.param(Formats("12AB", (PlateFormat("square", ("DD/LL",)),)), id="square"),
        pytest.param(Formats("12AB", (PlateFormat("flat", ("DDLL",)),)), id="flat"),
    ],
)
def test_every_pass_of_reading_is_taken(formats: Formats, monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    for module, name in ((second_pass, "cut_frame"), (third_pass, "cut_upright")):
        monkeypatch.setattr(module, name, note_calls(names, name, getattr(module, name)))
    plates = warm_up(Settings(), formats, read_canary(WEIGHTS).file)
    assert {*names} == {"cut_frame", "cut_upright"}
    assert all(UNREADABLE_BELOW < plate.text_score < SURE_FROM for plate in plates)
    assert len(plates) == (2 if formats.layouts(2) else 1)


def note_calls(names: list[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        names.append(name)
        return function(*arguments)

    return call
