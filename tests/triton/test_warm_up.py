from orchestrator.formats.plate_formats import Formats, PlateFormat, russian
from orchestrator.networks.weights import WEIGHTS
from orchestrator.settings import Settings
from orchestrator.system.canary import read_canary
from orchestrator.triton.warm_up import warm_up


def test_every_step_of_the_pipeline_is_taken() -> None:
    plates = warm_up(Settings(detection_threshold=1.0), russian(), read_canary(None).file)
    assert [len(plate.corners) for plate in plates] == [4, 4]
    assert plates.texts == ["", ""]


def test_plates_of_two_lines_are_read_beforehand_too() -> None:
    formats = Formats("12AB", (PlateFormat("square", ("DD/LL",)),))
    wide, square = warm_up(Settings(), formats, read_canary(WEIGHTS).file)
    assert wide.corners != square.corners == ((5, 32), (51, 32), (51, 78), (5, 78))
