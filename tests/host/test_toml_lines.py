"""Lines of values in TOML files."""

import pytest

from orchestrator.host.toml_lines import find_line, find_long_number

FILE = """\
service = "a"
"quoted key" = 1

[store]
url = "b"
note = '''
[[cameras]]
url = "in a text"
'''
[[cameras]]  # the first
name = "gate"
zones = [
    { name = "entry" },
]
[cameras.schedule]
start = "06:00"
[[cameras]]
name = "yard"
schedule.end = "22:00"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param(("service",), 1, id="at the top"),
        pytest.param(("quoted key",), 2, id="quoted"),
        pytest.param(("store", "url"), 5, id="in a table"),
        pytest.param(("cameras", 0, "name"), 11, id="in a list"),
        pytest.param(("cameras", 0, "zones", 0, "name"), 12, id="inside a value: its key"),
        pytest.param(("cameras", 0, "schedule", "start"), 16, id="in a table of a list"),
        pytest.param(("cameras", 1, "name"), 18, id="the second of a list"),
        pytest.param(("cameras", 1, "schedule", "end"), 19, id="a dotted key"),
        pytest.param(("cameras", 1, "url"), 17, id="a key that is missing: its table"),
        pytest.param(("gates",), None, id="nothing of it"),
        pytest.param((), None, id="the whole file"),
    ],
)
def test_the_line_of_a_value_is_found(path: tuple[str | int, ...], line: int | None) -> None:
    assert find_line(FILE, path) == line


def test_the_line_of_an_endless_number_is_found() -> None:
    assert find_long_number("a = 1\nb = " + "9" * 5000) == 2
    assert find_long_number(FILE) is None
