from orchestrator.canary import read_canary
from orchestrator.formats import russian
from orchestrator.settings import Settings
from orchestrator.triton.warm_up import warm_up


def test_every_step_of_the_pipeline_is_taken() -> None:
    (plate,) = warm_up(Settings(detection_threshold=1.0), russian(), read_canary(None).file)
    assert len(plate.corners) == 4
    assert plate.text == ""
