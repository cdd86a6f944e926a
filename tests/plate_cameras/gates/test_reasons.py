"""Reasons of refusals: written codes can be read back."""

import re

import pytest

from plate_cameras.gates.reasons import REASONS, Reason, read_reason, to_sentence

VALUES = re.compile(r"{(\w+)}")


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_is_read_back_with_its_values(code: str) -> None:
    values = {name: f"<{name}: 1.5> (2)" for name in VALUES.findall(REASONS[code])}
    assert read_reason(to_sentence(code, **values)) == Reason(code, values)


def test_the_sentence_has_its_values() -> None:
    told = to_sentence("hold_off", ago_s=f"{3.2:.0f}", hold_off_s=f"{60.0:g}")
    assert told == "opened for this plate 3 s ago; hold_off_s is 60"


@pytest.mark.parametrize("sentence", ["", "for the courier", "the relay does not answer twice"])
def test_other_sentences_are_no_reason(sentence: str) -> None:
    assert read_reason(sentence) is None
