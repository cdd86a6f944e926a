"""Scopes of groups, as a configuration makes them."""

import pytest

from plate_cameras.configuration import Camera, Configuration, Gate
from plate_cameras.store.scope import EVERYTHING, Scope


def camera(name: str, group: str, *lists: str) -> Camera:
    return Camera(name, "rtsp://10.0.0.5/1", group=group, lists=lists)


def gate(name: str, cameras: tuple[str, ...], *lists: str) -> Gate:
    return Gate(name, "http", "http://10.0.0.9/", cameras, lists)


CONFIGURATION = Configuration(
    (
        camera("a", "east", "cars", "shared"),
        camera("b", "west", "shared", "trucks"),
        camera("c", ""),
    ),
    gates=(
        gate("east", ("a",), "guests"),
        gate("yard", ("a", "b"), "cars", "trucks", "couriers"),
    ),
)
EAST = Scope.of(("east",), CONFIGURATION)


def test_without_groups_it_is_everything() -> None:
    assert Scope.of((), CONFIGURATION) == EVERYTHING


@pytest.mark.parametrize(("name", "is_seen"), [("a", True), ("b", False), ("c", False)])
def test_it_has_the_cameras_of_its_groups(name: str, *, is_seen: bool) -> None:
    assert EAST.sees(name) is is_seen
    assert EVERYTHING.sees(name)


@pytest.mark.parametrize(
    ("name", "is_seen", "is_foreign"),
    [
        pytest.param("cars", True, True, id="of its camera, and of a gate of both"),
        pytest.param("trucks", False, True, id="of another camera, and of a gate of both"),
        pytest.param("shared", True, True, id="of both cameras"),
        pytest.param("guests", True, False, id="of its gate alone"),
        pytest.param("couriers", True, True, id="of a gate of both alone"),
        pytest.param("new", False, False, id="of none"),
    ],
)
def test_lists_belong_to_those_whose_cameras_look_them_up(
    name: str, *, is_seen: bool, is_foreign: bool
) -> None:
    assert (EAST.uses(name), name in EAST.foreign_lists) == (is_seen, is_foreign)
    assert EAST.sees_list(name, ("west",)) is is_seen
    assert EVERYTHING.sees_list(name, None)


@pytest.mark.parametrize(
    ("owners", "is_seen"),
    [(None, False), ((), False), (("east",), True), (("east", "west"), False)],
)
def test_an_unused_list_belongs_to_its_owners(
    owners: tuple[str, ...] | None, *, is_seen: bool
) -> None:
    assert EAST.sees_list("new", owners) is is_seen
    assert EAST.sees_list("trucks", owners) is False
