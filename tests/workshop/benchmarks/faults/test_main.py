"""Which faults are made, by name."""

import pytest

from orchestrator.errors import SettingsError
from workshop.benchmarks.faults.__main__ import choose, parse
from workshop.benchmarks.faults.registry import FAULTS
from workshop.benchmarks.faults.settings import SETTINGS


def test_without_names_every_fault_is_made() -> None:
    assert choose([]) == [*FAULTS]


def test_names_choose_and_their_order_does_not_matter() -> None:
    names = [fault.name for fault in choose(["clock", "kill-stn"])]
    assert names == ["kill-stn", "clock"]


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(SettingsError, match=r"only: wanted some of kill-yolo, .* got earthquake"):
        choose(["earthquake"])


def test_names_and_titles_are_of_one_fault_each() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({fault.title for fault in FAULTS}) == len(FAULTS)


def test_every_fault_has_a_setting() -> None:
    assert {fault.setting for fault in FAULTS} == SETTINGS.keys()


def test_faults_of_a_setting_are_made_in_a_row() -> None:
    settings = [fault.setting for fault in FAULTS]
    assert settings == sorted(settings, key=settings.index)  # each is started once


def test_names_are_repeatable_flags() -> None:
    assert parse(["--only", "clock", "--only", "kill-stn"]).only == ["clock", "kill-stn"]
