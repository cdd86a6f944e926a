import json
from dataclasses import replace

from plate_cameras.passes import PassEvent
from plate_cameras.service.pass_table import HEAD, PassTable
from tests.plate_cameras.samples import make_event


def to_lines(table: PassTable, *events: PassEvent) -> list[str]:
    return [line for event in events for line in table.to_lines(event)]


def of_a_file(event: PassEvent) -> PassEvent:
    return replace(event, passed=replace(event.passed, clock="file", first_seen_s=61.4))


def test_a_pass_has_one_line_when_it_is_over() -> None:
    table = PassTable(is_json=False, is_all=False)
    lines = to_lines(table, make_event("agreed"), of_a_file(make_event()), make_event(id_="2"))
    assert lines[:2] == [
        HEAD,
        "0:01:01              A123BC77    0.97  towards       1  gate",
    ]
    assert len(lines) == 3
    assert lines[2][:4].isdecimal()  # a date
    assert all(len(line) <= 80 for line in lines)
    assert table.summarize() == "2 passes"


def test_what_cannot_be_read_is_counted_and_shown_if_wanted() -> None:
    table = PassTable(is_json=False, is_all=False)
    assert to_lines(table, make_event(text="")) == []
    assert table.summarize() == "0 passes, and 1 whose plate cannot be read"
    every = PassTable(is_json=False, is_all=True)
    assert to_lines(every, of_a_file(make_event(text="")))[1].split()[1] == "?"


def test_every_event_is_a_line_of_json() -> None:
    table = PassTable(is_json=True, is_all=False)
    lines = to_lines(table, make_event("agreed"), make_event("closed"))
    documents = [json.loads(line) for line in lines]
    assert [document["type"] for document in documents] == ["pass.agreed", "pass.closed"]
    assert table.summarize() == "1 pass"


def test_control_characters_of_names_do_not_reach_the_terminal() -> None:
    table = PassTable(is_json=False, is_all=False)
    assert "\x1b" not in "".join(to_lines(table, make_event(camera="gate\x1b[2J")))
