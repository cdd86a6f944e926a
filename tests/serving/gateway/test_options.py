"""Options that are written as text are read back unchanged."""

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.options import from_json


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "^gateway options: wanted JSON, got ", id="nothing"),
        pytest.param("[]", r"wanted a table, got \[\]", id="no-table"),
        pytest.param('{"port": 1}', "wanted some of models, .*, got port", id="unknown"),
        pytest.param('{"processes": "2"}', "processes: wanted a whole number", id="type"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        from_json(text)
