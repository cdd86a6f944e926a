"""The settings of lists."""

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.store.lists.list_settings import to_list_row


@pytest.mark.parametrize("name", ["", "  ", "resi\ndents", "\u202eresidents", "a\x00", "a" * 201])
def test_a_list_has_a_name_that_can_be_shown(name: str) -> None:
    with pytest.raises(ParameterError, match="name: wanted"):
        to_list_row(name, "", None)


def test_a_list_may_have_a_name_in_any_language() -> None:
    assert to_list_row("Жильцы дома 5", "", None)["name"] == "Жильцы дома 5"
