"""`plates passes` over a store with passes."""

import json
import os
import pwd
import re
import time
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from plate_cameras.cli.passes import passes
from plate_cameras.configuration import Sink, Store
from plate_cameras.store.factory import open_store
from plate_cameras.store.lists import list_editions
from plate_cameras.store.people.audit import AuditQuery
from plate_cameras.store.scope import EVERYTHING
from tests.plate_cameras.samples import make_event

ERP = Sink("erp", "webhook", "https://erp.example")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two passes, a year apart from each other."""
    first, second = make_event(id_="pass-1"), make_event(id_="pass-2", text="M456OP199")
    later = replace(second.vehicle_pass, first_seen_s=1_831_536_000.0)
    with closing(open_store(Store(), tmp_path)) as store:
        store.write([first, replace(second, vehicle_pass=later)], [ERP])
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(passes, [str(argument) for argument in arguments])


def test_passes_are_found_by_a_pattern(folder: Path) -> None:
    result = run("search", folder, "a123*", "--why", "case 7")
    assert result.exit_code == 0
    assert [line.split()[2] for line in result.stdout.splitlines()[1:]] == ["A123BC77"]
    nothing = run("search", folder, "X*", "--why", "case 7")
    assert (nothing.stdout, nothing.stderr) == ("", "no pass matches\n")


def test_an_empty_store_is_told(tmp_path: Path) -> None:
    open_store(Store(), tmp_path).close()
    result = run("search", tmp_path, "X*", "--why", "case 7")
    assert (result.stdout, result.stderr) == ("", "the store has no passes yet\n")


@pytest.mark.parametrize(
    "command",
    [
        ("search", "A*", "--why", "case 7"),
        ("delete-plate", "A1", "--yes", "--why", "case 7"),
        ("replay", "erp"),
    ],
)
def test_a_wrong_folder_gets_no_database(tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *rest = command
    result = run(name, tmp_path, *rest)
    assert result.exit_code == 2
    assert "found no passes.db" in result.stderr
    assert [*tmp_path.iterdir()] == []


def test_passes_are_found_with_edits_and_by_time_as_json(folder: Path) -> None:
    arguments = ("M456OP198", "--edits", 1, "--since", "2028-01-01", "--json", "--why", "case 7")
    (line,) = run("search", folder, *arguments).stdout.splitlines()
    assert json.loads(line)["text"] == "M456OP199"
    assert run("search", folder, "*", "--until", "2027-01-01", "--why", "case 7").stdout == ""
    day = ("--since", "2028-01-15", "--until", "2028-01-15")  # the last day is searched
    assert "M456OP199" in run("search", folder, "*", *day, "--why", "case 7").stdout
    result = run("search", folder, "*", "--since", "yesterday", "--why", "case 7")
    assert result.exit_code == 2
    assert "wanted a time like 2026-11-25T08:00, got 'yesterday'" in result.stderr


def test_the_data_of_one_plate_are_exported_and_deleted(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "plate.zip"
    assert "written" in run("export-plate", folder, "A123BC77", target, "--why", "owner").stderr
    with zipfile.ZipFile(target) as archive:
        assert len(archive.namelist()) >= 2
    refusal = run("delete-plate", folder, "A123BC77", "--why", "owner")
    assert refusal.exit_code == 1  # nobody has confirmed
    deletion = run("delete-plate", folder, "A123BC77", "--why", "owner", "--yes")
    assert deletion.stderr.startswith("passes deleted: 1")
    assert run("search", folder, "A123*", "--why", "case 7").stdout == ""
    assert "M456OP199" in run("search", folder, "M456*", "--why", "case 7").stdout


@pytest.mark.parametrize("content", [None, "text\nHORSE\n", "colour\nred\n"])
def test_a_failed_import_leaves_nothing(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "residents.csv"
    folder = tmp_path / "cameras"
    folder.mkdir()
    if content is not None:
        file.write_text(content)
    result = run("import-list", folder, "residents", file)
    assert (result.exit_code, result.stderr[:8]) == (2, "plates: ")
    assert [*folder.iterdir()] == []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "residents.csv"


def test_an_import_that_the_store_rejects_leaves_no_list(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_editions, "MAX_STORED_ENTRIES", 0)
    file.write_text("text\nA123BC77\n")
    result = run("import-list", folder, "residents", file)
    assert (result.exit_code, result.stderr[:17]) == (2, "plates: entries: ")
    with closing(open_store(Store(), folder)) as store:
        assert store.lists.names() == []


def test_a_list_is_imported_and_doubtful_texts_when_somebody_says_so(
    folder: Path, file: Path
) -> None:
    file.write_text("text,note\nA123BC77,flat 7\n")
    for _ in range(2):
        result = run("import-list", folder, "residents", file)
        assert result.stderr == "plates put into residents: 1\n"
    file.write_text("HORSE1;x\n")
    result = run("import-list", folder, "residents", file)
    assert (result.exit_code, "accept doubtful texts" in result.stderr) == (2, True)
    assert run("import-list", folder, "residents", file, "--accept-doubtful").exit_code == 0
    with closing(open_store(Store(), folder)) as store:
        entries = store.lists.entries("residents", EVERYTHING)
    notes = {entry.text: entry.note for entry in entries}
    assert notes == {"A123BC77": "flat 7", "HORSE1": "x"}


def test_an_import_is_looked_at_first(tmp_path: Path) -> None:
    file = tmp_path / "residents.csv"
    file.write_text("plate;until\na123bc77;31.12.2027\nAO12BC77;\n;1\n")
    folder = tmp_path / "cameras"
    folder.mkdir()
    result = run("import-list", folder, "residents", file, "--preview")
    assert result.exit_code == 0
    assert "line 2: A123BC77  until 2027-12-31\n" in result.stdout
    assert "line 3: text: wanted a plate's text such as A012BC77" in result.stdout
    assert "line 4: valid_until: wanted a date" in result.stdout
    assert "new: 2; changed: 0; removed: 0. Nothing was changed" in result.stderr
    assert [*folder.iterdir()] == []


def test_a_template_is_printed() -> None:
    assert run("list-template").stdout.startswith("\ufeffplate;note;valid from;")
    assert run("list-template", "--language", "fr").exit_code == 2


def test_events_are_sent_again(folder: Path) -> None:
    now_s = time.time()
    with closing(open_store(Store(), folder)) as store:
        for delivery in store.outbox.claim("erp", 10, now_s, 60):
            store.outbox.confirm([delivery], now_s)
        assert store.outbox.waiting("erp") == 0
    assert run("replay", folder, "erp").stderr == "events that are due again: 2\n"
    assert run("replay", folder, "none").stderr == "events that are due again: 0\n"


@pytest.mark.parametrize("days", ["nan", "inf", "36501"])
def test_events_of_no_number_of_days_are_not_sent_again(folder: Path, days: str) -> None:
    result = run("replay", folder, "erp", "--days", days)
    assert (result.exit_code, f"--days: wanted 0 to 36500, got {days}" in result.stderr) == (
        2,
        True,
    )


def test_the_store_of_a_file_of_cameras_is_used(folder: Path) -> None:
    file = folder / "CAMERAS.toml"
    file.write_text('[[cameras]]\nname = "gate"\nurl = "rtsp://gate"\n')
    assert "A123BC77" in run("search", file, "A*", "--why", "case 7").stdout


def test_nobody_takes_the_name_of_a_person_or_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "key:office")
    run("search", folder, "*", "--why", "case 7")
    with closing(open_store(Store(), folder)) as store:
        (entry,) = store.reader.searches(AuditQuery(), EVERYTHING)
    assert entry.who == f"account:{pwd.getpwuid(os.getuid()).pw_name}"


def test_an_export_can_be_read_by_its_owner_alone(folder: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    for name in ("plate.zip", "plate"):
        run("export-plate", folder, "A123BC77", tmp_path / name, "--why", "owner")
    os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("plate.zip", "plate")]
    assert modes == [0o600, 0o700]


CAMERAS = """
[[cameras]]
name = "gate"
url = "rtsp://10.0.0.5/1"

[[sinks]]
name = "log"
type = "jsonl"
url = "{}"
lists = []
unknown = true
"""


@pytest.mark.parametrize("is_kept", [True, False], ids=["with a store", "before the first watch"])
def test_a_sink_gets_a_test_which_the_audit_records(tmp_path: Path, *, is_kept: bool) -> None:
    file, events = tmp_path / "CAMERAS.toml", tmp_path / "events.jsonl"
    file.write_text(CAMERAS.format(events))
    if is_kept:
        open_store(Store(), tmp_path).close()
    result = run("test-sink", file, "log")
    assert (result.exit_code, result.stderr) == (0, "sink log: the test was accepted\n")
    assert [json.loads(line)["type"] for line in events.read_text().splitlines()] == ["test"]
    assert (tmp_path / "passes.db").exists() is is_kept
    if is_kept:
        with closing(open_store(Store(), tmp_path)) as store:
            (entry,) = store.reader.searches(AuditQuery(), EVERYTHING)
        assert (entry.kind, entry.query) == ("test sink", {"sink": "log"})


@pytest.mark.parametrize(
    ("url", "name", "message"),
    [
        pytest.param("events.jsonl", "chat", r"wanted a sink of .*\(log\), got 'chat'", id="name"),
        pytest.param("/dev/full/a", "log", "cannot write: ", id="receiver"),
    ],
)
def test_a_test_that_fails_is_told(tmp_path: Path, url: str, name: str, message: str) -> None:
    file = tmp_path / "CAMERAS.toml"
    file.write_text(CAMERAS.format(url))
    result = run("test-sink", file, name)
    assert result.exit_code == 2
    assert re.search(message, result.stderr)
