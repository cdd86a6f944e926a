"""Limits of CAMERAS.toml: a test of all its settings."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from orchestrator.errors import SettingsError
from orchestrator.host import toml_files
from plate_cameras.configuration import (
    Camera,
    Configuration,
    ControlRoomSettings,
    Gate,
    Line,
    Schedule,
    Sink,
    Site,
    Store,
    Zone,
    read_configuration,
)
from plate_cameras.message_forms import MessageForm
from plate_cameras.setting_parts import MAX_CHARACTERS

MANY = 10_000
GATE = {"name": "north", "type": "http", "url": "http://relay/", "cameras": ("gate",)}
SAMPLES: list[Any] = [
    Configuration((Camera("gate", "rtsp://gate"),)),
    Camera("gate", "rtsp://gate"),
    Zone("entry", ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))),
    Line("stop", ((0.0, 0.0), (1.0, 0.0))),
    Gate(**GATE, lists=("residents",)),  # type: ignore[arg-type]
    Sink("alarm", "webhook", "https://alarm.example/"),
    Store(),
    Schedule(),
    ControlRoomSettings(),
    Site("yard", ("in",), ("out",)),
    MessageForm(),
]


def inner_types(kind: Any) -> Iterator[Any]:
    """Return all dataclasses within the fields of a dataclass."""
    yield kind
    for hint in get_type_hints(kind).values():
        for inner_hint in [hint, *get_args(hint)]:
            if is_dataclass(inner_hint):
                yield from inner_types(inner_hint)


def sized_fields() -> Iterator[Any]:
    for sample in SAMPLES:
        hints = get_type_hints(type(sample))
        for field in fields(sample):
            hint = hints[field.name]
            name = f"{type(sample).__name__}.{field.name}"
            if get_origin(hint) is tuple:
                value: Any = (*(getattr(sample, field.name) or ("gate",)),) * MANY
                yield pytest.param(sample, field.name, value, id=f"{name} items")
                if get_args(hint)[0] is str:
                    yield pytest.param(sample, field.name, ("x" * MANY,), id=f"{name} characters")
            elif get_origin(hint) is Mapping:
                table = {str(at): "x" for at in range(MANY)}
                yield pytest.param(sample, field.name, table, id=f"{name} items")
                yield pytest.param(sample, field.name, {"x" * MANY: ""}, id=f"{name} key")
                yield pytest.param(sample, field.name, {"x": "x" * MANY}, id=f"{name} value")
            elif {str, Path} & {hint, *(get_args(hint) if isinstance(hint, UnionType) else ())}:
                yield pytest.param(sample, field.name, "x" * MANY, id=f"{name} characters")


def test_the_walk_knows_every_table_of_the_file() -> None:
    assert {*inner_types(Configuration)} == {type(sample) for sample in SAMPLES}


@pytest.mark.parametrize(("sample", "name", "value"), [*sized_fields()])
def test_each_setting_has_an_upper_number(sample: Any, name: str, value: Any) -> None:
    message = rf"{name}: wanted (at most \d+( characters)?, got \d+|some of)|wanted a time HH:MM"
    with pytest.raises(SettingsError, match=message):
        replace(sample, **{name: value})


def texts() -> Iterator[Any]:
    """Yield all settings that are texts, lists of texts or tables, with an odd character."""
    odd = {str: "x\0", tuple: ("x\n",), Mapping: {"x\u202e": ""}}
    for sample in SAMPLES:
        for name, hint in get_type_hints(type(sample)).items():
            kind = get_origin(hint) or hint
            if (kind is tuple and get_args(hint)[0] is str) or kind in (str, Mapping):
                yield pytest.param(sample, name, odd[kind], id=f"{type(sample).__name__}.{name}")


@pytest.mark.parametrize(("sample", "name", "value"), [*texts()])
def test_no_setting_has_a_character_that_databases_and_logs_cannot_keep(
    sample: Any, name: str, value: Any
) -> None:
    with pytest.raises(SettingsError, match=r"wanted (printable characters, got|some of|a time)"):
        replace(sample, **{name: value})


def test_too_many_are_told_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "CAMERAS.toml"
    lists = ", ".join(f'"{at}"' for at in range(101))
    file.write_text(f'[[cameras]]\nname = "gate"\nurl = "rtsp://gate"\nlists = [{lists}]\n')
    with pytest.raises(SettingsError, match=r"lists: wanted at most 100, got 101 \(at line 4\)"):
        read_configuration(file)


def test_two_thousand_cameras_are_read_and_one_more_is_told() -> None:
    cameras = tuple(Camera(f"gate-{at}", "rtsp://gate") for at in range(2001))
    assert len(Configuration(cameras[:2000]).cameras) == 2000
    with pytest.raises(SettingsError, match="cameras: wanted at most 2000, got 2001"):
        Configuration(cameras)


def test_the_file_has_an_upper_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml_files, "MAX_FILE_BYTES", 10)
    (tmp_path / "CAMERAS.toml").write_text("#" * 11)
    with pytest.raises(SettingsError, match="wanted at most 10 bytes, got more"):
        read_configuration(tmp_path / "CAMERAS.toml")


def test_a_text_may_have_so_many_characters() -> None:
    assert Store(url="x" * MAX_CHARACTERS).url
