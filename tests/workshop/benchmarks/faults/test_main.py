"""The selection of faults by name."""

import pytest

from orchestrator.errors import SettingsError
from workshop.benchmarks.fault_runs import choose
from workshop.benchmarks.faults.registry import FAULTS
from workshop.benchmarks.faults.settings import BREAKING, SETTINGS


def test_names_choose_faults_in_the_order_of_the_list() -> None:
    assert choose(FAULTS, []) == [*FAULTS]
    names = [fault.name for fault in choose(FAULTS, ["clock", "kill-stn"])]
    assert names == ["kill-stn", "clock"]


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(SettingsError, match=r"only: wanted some of kill-yolo, .* got earthquake"):
        choose(FAULTS, ["earthquake"])


def test_faults_of_a_setting_are_made_in_a_row() -> None:
    settings = [fault.setting for fault in FAULTS]
    assert {*settings} == SETTINGS.keys() - {*BREAKING.values()}  # those are for first light
    assert settings == sorted(settings, key=settings.index)  # each is started once
