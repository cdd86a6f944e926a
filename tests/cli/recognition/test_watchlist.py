from pathlib import Path

import pytest

from orchestrator import to_cyrillic
from orchestrator.cli.recognition.watchlist import Hit, Watchlist, edit_distance, read_watchlist
from orchestrator.errors import SettingsError
from orchestrator.formats.plate_formats import russian
from orchestrator.plates import Plate

BOX = (0, 0, 90, 20)


def make_plate(text: str) -> Plate:
    return Plate(BOX, text=text)


@pytest.mark.parametrize("distance", [0, 1, 2])
@pytest.mark.parametrize("text", ["A123BC77", "A128BC77", "A123BC777", "B128BC77", "A23BC7", "K"])
def test_plates_within_the_distance_are_found_and_no_others(text: str, distance: int) -> None:
    edits = edit_distance(text, "A123BC77")
    hit = Watchlist({"A123BC77": "", "X999XX99": ""}, distance).find(make_plate(text))
    assert hit == (Hit("A123BC77", "", edits) if edits <= distance else None)


def test_the_nearest_one_counts() -> None:
    watchlist = Watchlist({"A123BC78": "", "A123BC77": "mine"}, 1)
    assert watchlist.find(make_plate("A123BC77")) == Hit("A123BC77", "mine", 0)


def test_a_plate_that_was_not_sure_enough_is_looked_up_by_its_best_reading() -> None:
    watchlist = Watchlist({"A123BC77": ""}, 0)
    unsure_plate = Plate(BOX, candidates=(("A123BC77", 0.4),), raw_text="A123BC7")
    assert watchlist.find(unsure_plate) == Hit("A123BC77", "", 0)
    assert watchlist.find(Plate(BOX, raw_text="A123BC77")) == Hit("A123BC77", "", 0)
    assert watchlist.find(Plate(BOX)) is None


def test_a_list_has_plates_in_either_letters_with_notes(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"# wanted\n\n{to_cyrillic('A123BC77').lower()}  blue van\nb456op199,\n")
    watchlist = read_watchlist(path, 0, russian())
    assert watchlist.find(make_plate("A123BC77")) == Hit("A123BC77", "blue van", 0)
    assert watchlist.find(make_plate("B456OP199")) == Hit("B456OP199", "", 0)


@pytest.mark.parametrize(
    ("line", "text", "note"),
    [
        pytest.param("A004MA 37", "A004MA37", "", id="region"),
        pytest.param("A 123 BC 77 blue van", "A123BC77", "blue van", id="every-part"),
        pytest.param("a 004 \u043c\u0430 37, 2 doors", "A004MA37", "2 doors", id="letters"),
        pytest.param("A123BC77 7 seats", "A123BC77", "7 seats", id="note-of-a-whole-plate"),
        pytest.param("A004MA stolen", "A004MA", "stolen", id="of-no-known-kind"),
        pytest.param("A004MA,37", "A004MA", "37", id="note-behind-a-comma"),
    ],
)
def test_blanks_in_a_plate_of_a_known_kind_are_left_out(
    line: str, text: str, note: str, tmp_path: Path
) -> None:
    messages: list[str] = []
    (tmp_path / "list.txt").write_text(f"B456OP199\n{line}\n")
    watchlist = read_watchlist(tmp_path / "list.txt", 0, russian(), messages.append)
    assert watchlist.find(make_plate(text)) == Hit(text, note, 0)
    unknown = f"line 2: '{text}' is no known kind of plate; it is looked for as it stands"
    assert [line.partition("list.txt: ")[2] for line in messages] == (
        [unknown] if text == "A004MA" else []
    )


def test_many_plates_of_no_known_kind_are_told_in_a_few_lines(tmp_path: Path) -> None:
    messages: list[str] = []
    (tmp_path / "list.txt").write_text("".join(f"FOREIGN{n}\n" for n in range(1205)))
    read_watchlist(tmp_path / "list.txt", 0, russian(), messages.append)
    assert len(messages) == 6
    assert messages[-1].endswith(": 1,200 more lines of no known kind")


@pytest.mark.parametrize("line", ["A 123 BC", "A, 123 BC 77"])
def test_a_line_that_begins_with_no_plate_is_an_error(line: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"B456OP199\n{line}\n")
    with pytest.raises(SettingsError, match=f"line 2: wanted a plate of a known .* got '{line}'"):
        read_watchlist(tmp_path / "list.txt", 0, russian())


def test_a_list_without_plates_is_none(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("# nobody\n")
    with pytest.raises(SettingsError, match="wanted a plate a line, got none"):
        read_watchlist(tmp_path / "list.txt", 0, russian())
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_watchlist(tmp_path / "gone.txt", 0, russian())
