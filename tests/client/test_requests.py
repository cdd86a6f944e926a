"""Results for one picture of many, and the number of calls that fit a server."""

import pytest

from orchestrator.client.requests import FITTING, PictureResult, fit
from orchestrator.errors import Overloaded
from orchestrator.plates import Plate, Plates

PLATES = Plates((Plate((0, 0, 9, 9), text="A123BC77"),))


def test_plates_are_there_without_an_error() -> None:
    found = PictureResult("car.jpg", PLATES)
    assert (found.plates, found.error) == (PLATES, None)


def test_a_failure_is_never_a_picture_without_plates() -> None:
    found = PictureResult("car.jpg", Overloaded("full"))
    assert str(found.error) == "full"
    with pytest.raises(Overloaded, match="full"):
        found.plates  # noqa: B018


@pytest.mark.parametrize(
    ("config", "calls"),
    [
        pytest.param({"instance_group": [{"count": 3}]}, 6, id="one-group"),
        pytest.param({"instance_group": [{"count": "1"}, {"count": 2}]}, 6, id="two-groups"),
        pytest.param({"instance_group": []}, FITTING, id="none"),
        pytest.param({"instance_group": [{"name": "a"}]}, FITTING, id="no-count"),
        pytest.param({}, FITTING, id="says-nothing"),
    ],
)
def test_twice_as_many_calls_fit_as_the_server_has_in_work(config: dict, calls: int) -> None:
    assert fit(config) == calls
