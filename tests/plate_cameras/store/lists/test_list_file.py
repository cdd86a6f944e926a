"""Files of plates, as offices have them."""

from collections.abc import Iterator
from datetime import date, datetime, timezone
from time import tzset

import pytest

from orchestrator.errors import ParameterError
from plate_cameras.store.lists.file_contents import decode
from plate_cameras.store.lists.list_file import day_bound, make_template, parse_csv, read_rows
from plate_cameras.store.lists.list_lookup import ListEntry

HEAD = "\u043d\u043e\u043c\u0435\u0440;\u043f\u0440\u0438\u043c\u0435\u0447\u0430\u043d\u0438\u0435"
NOTE = "\u043a\u0432. 12"
UNTIL = "\u0414\u0435\u0439\u0441\u0442\u0432\u0443\u0435\u0442 \u0434\u043e"
PLATE = "\u0410123\u0412\u042177"
ENTRY = ListEntry("A123BC77", NOTE)


@pytest.fixture
def in_moscow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Moscow")
    tzset()
    yield
    monkeypatch.undo()
    tzset()


def utc(*parts: int) -> float:
    return datetime(*parts, tzinfo=timezone.utc).timestamp()  # type: ignore[arg-type, misc]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1251"])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"{HEAD}\r\n{PLATE};{NOTE}\r\n", id="header"),
        pytest.param(f"{HEAD.upper()};;\r\n{PLATE};{NOTE};;\r\n;;;\r\n\r\n", id="empty cells"),
        pytest.param(f"{PLATE};{NOTE}\r\n", id="no header"),
        pytest.param(f"{PLATE}\t{NOTE}\r\n", id="tabs"),
        pytest.param(f"\r\ntext,note\n{PLATE},{NOTE}", id="commas behind an empty line"),
        pytest.param(f"\r{HEAD}\r{PLATE};{NOTE}\r", id="lines of old Macs"),
        pytest.param(f"sep=;\r{HEAD}\r{PLATE};{NOTE}", id="lines of old Macs with a separator"),
    ],
)
def test_a_file_of_an_office_is_read(encoding: str, content: str) -> None:
    assert [*parse_csv(decode(content.encode(encoding))).values()] == [ENTRY]


@pytest.mark.parametrize(
    "text",
    [
        "A123BC77RUS",
        "A 123 BC 77 RUS",
        "a123bc-77",
        PLATE.lower(),
        f"{PLATE}\u00a0RUS",
        f"{PLATE}\u0420\u0423\u0421",
        "\uff21\uff11\uff12\uff13BC\uff0d77",
        "A\u0661\u0662\u0663BC77",
        "A123BC/77",
        "A123BC RUS 77",
        f"{PLATE[:6]}\u0420\u0423\u0421{PLATE[6:]}",
    ],
)
def test_one_plate_has_one_text(text: str) -> None:
    assert [*parse_csv(f"text\n{text}\n")] == ["A123BC77"]


@pytest.mark.parametrize(
    "text",
    ["A123BC77", "A123BC777", "TO05577", "AB12377", "1234AB77", "A123477", "004CD177", "A000AA01"],
)
def test_texts_of_plates_are_not_doubtful(text: str) -> None:
    assert [*parse_csv(f"text\n{text}\n")] == [text]


NOT_A_PLATE = "such as A123BC77"


@pytest.mark.parametrize(
    ("text", "proposal"),
    [
        pytest.param("AO12BC77", "such as A012BC77", id="O for 0"),
        pytest.param("AO12BC777", "such as A012BC777", id="O for 0 beside a longer code"),
        pytest.param("012300777", "such as O123OO777", id="0 for O"),
        pytest.param("A1238C77", NOT_A_PLATE, id="8 for B"),
        pytest.param("A12\u0417BC77", NOT_A_PLATE, id="a letter for 3"),
        pytest.param("TOO5577", "such as TO05577", id="a taxi"),
        pytest.param("\u041f\u041bOXO\u0419", NOT_A_PLATE, id="a word"),
        pytest.param("D777DD77", NOT_A_PLATE, id="a letter of no plate"),
        pytest.param("\u0416123BC77", NOT_A_PLATE, id="a Cyrillic letter of no plate"),
        pytest.param("HORSE", NOT_A_PLATE, id="no digit"),
        pytest.param("A123BC777777", NOT_A_PLATE, id="too long"),
        pytest.param("A123BC", NOT_A_PLATE, id="no region"),
        pytest.param("A123BC7", NOT_A_PLATE, id="half a region"),
        *(
            pytest.param(f"A123BC{code}", f"with a known region, got {code} in", id=code)
            for code in ("00", "000", "077", "999")
        ),
    ],
)
def test_a_doubtful_text_is_told_with_a_proposal_and_taken_when_somebody_says_so(
    text: str, proposal: str
) -> None:
    content = f"text\nM456OP199\n{text}\n"
    with pytest.raises(
        ParameterError, match=f"^line 3: text: wanted a plate's text {proposal}.*'{text}'"
    ):
        parse_csv(content)
    assert len(parse_csv(content, accepts_doubtful=True)) == 2


def test_what_no_plate_can_have_is_wrong_also_then() -> None:
    with pytest.raises(ParameterError, match="line 2: text: wanted at most 32 letters"):
        parse_csv("text\nA_1\n", accepts_doubtful=True)


def test_all_wrong_lines_are_told_at_once() -> None:
    with pytest.raises(ParameterError, match=r"^line 2: .*; line 4: .*HORSE'; accept doubtful"):
        parse_csv("text\nAO12BC77\nA123BC77\nHORSE\n")


def test_a_long_file_names_its_first_wrong_lines() -> None:
    with pytest.raises(ParameterError, match=r"; line 21: .*'HORSE'; 5 more lines; accept"):
        parse_csv("text\n" + "HORSE\n" * 25)


@pytest.mark.parametrize(
    ("first_line", "separator"), [("sep=;", ";"), ('"sep=,"', ","), ("SEP=\t", "\t")]
)
def test_a_line_that_tells_excel_the_separator_is_skipped(first_line: str, separator: str) -> None:
    content = f"{first_line}\r\ntext{separator}note\r\nA123BC77{separator}a\r\nHORSE\r\n"
    first, second = read_rows(content)
    assert first.entry == ListEntry("A123BC77", "a")
    assert second.line == 4


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_template_is_filled_in_and_read(language: str) -> None:
    assert parse_csv(make_template(language)) == {}
    content = make_template(language) + "A123BC77;flat 7;;31.12.2027;1\r\n"
    (entry,) = parse_csv(decode(content.encode())).values()
    assert (entry.text, entry.note, entry.edits) == ("A123BC77", "flat 7", 1)
    assert entry.valid_until_s is not None


@pytest.mark.usefixtures("in_moscow")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2027-12-31", utc(2027, 12, 31, 21), id="ISO day"),
        pytest.param("31.12.2027", utc(2027, 12, 31, 21), id="Russian day"),
        pytest.param("1.2.2027", utc(2027, 2, 1, 21), id="short Russian day"),
        pytest.param("31.12.2027 18:00", utc(2027, 12, 31, 15), id="Russian time"),
        pytest.param("2027-12-31T18:00Z", utc(2027, 12, 31, 18), id="time with an offset"),
    ],
)
def test_an_end_is_the_end_of_that_day_in_local_time(text: str, expected: float) -> None:
    (entry,) = parse_csv(f"text;{UNTIL}\nA123BC77;{text}\n").values()
    assert entry.valid_until_s == expected


@pytest.mark.parametrize(
    "text",
    ["31.13.2027", "31.02.2027", "soon", "31.12.27", "20271231", "2027-W52-5", "2027-12-31T9"],
)
def test_a_date_that_is_none_is_told(text: str) -> None:
    with pytest.raises(ParameterError, match=r"line 2: valid_until: wanted a date"):
        parse_csv(f"text,valid_until\nA123BC77,{text}\n")


def test_an_entry_that_would_never_count_is_told_with_its_line() -> None:
    rows = "A123BC77,2027-01-01,2027-01-01\nM456OP199,2027-01-02,2027-01-01\n"
    with pytest.raises(ParameterError, match=r"^line 3: valid_until: wanted a time after 2027"):
        parse_csv(f"text,valid_from,valid_until\n{rows}", zone=timezone.utc)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"PK\x03\x04rest", r"got (a damaged workbook|\.xlsx)", id="workbook"),
        pytest.param(b"\xd0\xcf\x11\xe0", "save it as CSV in Excel", id="old workbook"),
        pytest.param(b"\x89PNG\0\0", "got other bytes", id="picture"),
        pytest.param(b"\xff\xfea", "got other bytes|UTF", id="half of UTF-16"),
    ],
)
def test_other_files_are_told(content: bytes, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_csv(decode(content))


@pytest.mark.parametrize(
    "content",
    ["A123BC77;x;31.12.2027\n", "text;colour\nA123BC77;red\n", "text;text\nA1;A2\n", ""],
)
def test_columns_without_a_meaning_are_told(content: str) -> None:
    with pytest.raises(ParameterError, match="columns: wanted text, note"):
        parse_csv(content)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(f'"{PLATE};x\r\n{PLATE};y', id="open"),
        pytest.param(f'"{PLATE}"x;y', id="text behind"),
        pytest.param(f"{PLATE};{'x' * 131_073}", id="long"),
    ],
)
def test_a_file_that_is_no_csv_from_some_line_on_is_told(row: str) -> None:
    with pytest.raises(ParameterError, match=r"line \d: cells: wanted quotes in pairs .* got: "):
        parse_csv(f"{HEAD}\r\n{row}")


def test_a_cell_without_a_column_is_told() -> None:
    with pytest.raises(ParameterError, match="line 2: cells: wanted at most 1, got 2"):
        parse_csv("text\nA123BC77,flat 2\n")


def test_the_last_day_has_an_end() -> None:
    assert day_bound(date.max, is_end=True) == utc(9999, 12, 31, 23, 59, 59)
