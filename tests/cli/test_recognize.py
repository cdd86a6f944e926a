import csv
import io
import json
import re
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.errors import RequestError, ServerError
from orchestrator.host.distribution import read_version
from orchestrator.imaging import heic
from orchestrator.plates import Plate, PlateRegion, Plates
from tests.cli.no_server import NoServer
from tests.imaging.heic_files import heic_of
from tests.samples import PROJECT, STREET

PLATE = Plate(
    xyxy=(10.4, 20.6, 110.0, 45.0),
    detection_score=0.9,
    text="A001AA77",
    text_score=0.98,
    raw_text="A001AA77",
    format="ru_car",
    region=PlateRegion("77", "Moscow"),
)
UNREAD = Plate((500.0, 300.0, 600.0, 345.0), 0.6, "", 0.4, "M456OP199", (), (("M456OP19", 0.4),))
NOISE = (UNREAD, Plate((1, 2, 3, 4)))
JUNK, AWAY = b"junk", b"away"


class FakeClient(NoServer):
    """Answers with the same plates for every file, except one that is no picture."""

    plates, note = (PLATE,), ""
    calls: list[dict[str, object]] = []  # noqa: RUF012 - of one test

    def recognize(self, picture: bytes, **parameters: object) -> Plates:
        self.calls.append(parameters)
        if picture == JUNK:
            raise RequestError("encoded_image: wanted a picture, got junk (request 1f2e)")
        if picture == AWAY:
            raise ServerError("somewhere:1: wanted an answer, got none")
        return Plates(self.plates, self.note)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command in a folder of its own; return its result."""
    monkeypatch.setattr("orchestrator.client.PlateClient", FakeClient)
    monkeypatch.setattr("orchestrator.cli.chosen_server.fitting_calls", lambda *_: 3)
    monkeypatch.setattr(FakeClient, "calls", [])
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **options: CliRunner().invoke(
        app, ["recognize", "--url", "somewhere:1", *map(str, arguments)], **options
    )


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Five files of pictures; the third has other content."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(5):
        content = JUNK if number == 2 else STREET.read_bytes()
        (folder / f"{number}.jpg").write_bytes(content)
    return folder


def names_in(path: Path) -> list[str]:
    return [json.loads(line)["picture"] for line in path.read_text().splitlines()]


def rows_in(path: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(path.read_text()))]


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith(f"plates {read_version()}, ")


class TestTable:
    def test_each_plate_of_many_pictures_is_a_row_and_the_last_line_sums_up(
        self, run, photos
    ) -> None:
        result = run(photos)
        head, *rows = result.stdout.splitlines()
        assert head.startswith("plate ")
        assert [row.split() for row in rows] == [
            ["A001AA77", "0.98", "ru_car", "10", "21", "110", "45", f"{photos}/{n}.jpg"]
            for n in (0, 1, 3, 4)
        ]
        assert re.fullmatch(
            r"5 pictures in \d+\.\d s, [\d.]+ a second: 4 plates found, 4 read, 1 picture failed",
            result.stderr.splitlines()[-1],
        )

    @pytest.mark.parametrize(
        ("plates", "last"),
        [
            pytest.param((PLATE, *NOISE), "and 2 that cannot be read", id="beside-others"),
            pytest.param(NOISE, "2 plates that cannot be read", id="alone"),
            pytest.param((), "no plates", id="none"),
        ],
    )
    def test_plates_that_cannot_be_read_are_counted(self, run, monkeypatch, plates, last) -> None:
        monkeypatch.setattr(FakeClient, "plates", plates)
        result = run(STREET)
        assert result.exit_code == 0
        assert re.fullmatch(rf"{last} +{STREET}", result.stdout.splitlines()[-1])

    def test_all_of_them_are_shown_with_the_reason(self, run, monkeypatch) -> None:
        monkeypatch.setattr(FakeClient, "plates", (PLATE, *NOISE))
        rows = run(STREET, "--all").stdout.splitlines()
        assert re.match(r"\? +0\.40 .*  not sure enough to say, maybe M456OP19$", rows[2])
        assert re.match(r"\? +0\.00 .*  cannot be read: too small, blurred or covered$", rows[3])
        assert len(json.loads(run(STREET, "--json").stdout)["plates"]) == 3

    def test_the_name_of_a_file_gives_a_terminal_no_orders(self, run, tmp_path) -> None:
        (tmp_path / "a\x1b[31m.jpg").write_bytes(b"a picture")
        assert run("a\x1b[31m.jpg").stdout.endswith("  a?[31m.jpg\n")


class TestBroken:
    def test_it_is_in_the_json(self, run, photos) -> None:
        lines = [json.loads(line) for line in run("photos", "--json").stdout.splitlines()]
        assert [line["picture"] for line in lines] == [f"photos/{n}.jpg" for n in range(5)]
        assert lines[2] == {"picture": "photos/2.jpg", "error": "wanted a picture, got junk"}
        assert lines[3]["plates"][0]["text"] == "A001AA77"

    def test_a_file_that_cannot_be_read_is_named_once(self, run) -> None:
        result = run("/proc/self/mem", STREET)
        assert result.exit_code == 1
        assert re.match(r"/proc/self/mem: cannot be read: [^:\n]*\n2 pictures", result.stderr)

    def test_a_server_that_is_gone_is_not_asked_for_ever(self, run, tmp_path) -> None:
        for number in range(200):
            (tmp_path / f"{number}.jpg").write_bytes(AWAY)
        result = run(".", "--jsonl", "out.jsonl")
        assert result.exit_code == 1
        assert len(names_in(tmp_path / "out.jsonl")) == 10
        assert result.stderr.splitlines()[-1] == (
            "Stopped: no answer for 10 pictures in a row: the rest was not tried. "
            "To go on, give the same command again with --resume."
        )


class TestNothing:
    def test_no_picture_starts_no_server(self, run, tmp_path) -> None:
        arguments = ["recognize", str(tmp_path), str(tmp_path / "gone.jpg")]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2
        assert result.stderr.splitlines()[:2] == [
            f"{tmp_path}: no pictures in this folder (JPEG, PNG, WebP or BMP)",
            f"{tmp_path / 'gone.jpg'}: no such file or folder",
        ]

    def test_nothing_named_is_one_sentence(self, run) -> None:
        result = run()
        assert result.exit_code == 2
        assert result.stderr.startswith("plates: wanted pictures, folders, archives or URLs")

    @pytest.mark.parametrize(
        ("names", "messages"),
        [
            pytest.param(
                ("a.gif", "b.GIF", "notes", ".hidden.gif"),
                ["3 files that are not JPEG, PNG, WebP or BMP: 2 .gif, 1 without a suffix"],
                id="by-kind",
            ),
            pytest.param(
                ("a.MP4", "b.mov"),
                [
                    "2 files that are not JPEG, PNG, WebP or BMP: 1 .mp4, 1 .mov",
                    "to read a clip: plates watch --once clip.mp4",
                ],
                id="clips",
            ),
            pytest.param(
                ("a.heic",),
                [
                    "1 file that is not JPEG, PNG, WebP or BMP: 1 .heic",
                    "to read HEIC files: pip install pillow-heif",
                ],
                id="heic-where-nothing-reads-it",
            ),
        ],
    )
    def test_skipped_files_are_counted_and_lead_on(
        self, run, photos, monkeypatch, names: tuple[str, ...], messages: list[str]
    ) -> None:
        monkeypatch.setattr(heic, "can_read", lambda: False)
        for name in names:
            (photos / name).touch()
        lines = run(photos).stderr.splitlines()[:-1]
        assert lines[-len(messages) :] == [f"skipped {messages[0]}", *messages[1:]]

    def test_a_heic_file_of_a_folder_is_recognised_and_drawn(self, run, tmp_path) -> None:
        (tmp_path / "phone").mkdir()
        (tmp_path / "phone" / "IMG_1.HEIC").write_bytes(heic_of(STREET))
        result = run("phone", "--json", "--annotate", "drawn")
        assert result.exit_code == 0, result.stderr
        assert names(result.stdout) == ["phone/IMG_1.HEIC"]
        assert [path.name for path in (tmp_path / "drawn").iterdir()] == ["IMG_1.jpg"]


class TestSources:
    def test_a_picture_comes_from_standard_input(self, run) -> None:
        result = run("-", "--json", input=STREET.read_bytes())
        assert json.loads(result.stdout)["picture"] == "-"

    def test_standard_input_is_named_once(self, run) -> None:
        result = run("-", "--from-file", "-")
        assert result.exit_code == 2
        assert "standard input: wanted it named once" in result.stderr

    def test_archives_patterns_and_lists_keep_their_order(self, run, photos, tmp_path) -> None:
        with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
            archive.write(STREET, "inner/car.jpg")
        file_list = "photos/0.jpg\n\ngone.jpg\n"
        result = run("more.zip", "photos/[34].jpg", "--from-file", "-", "--json", input=file_list)
        expected_names = ["more.zip/inner/car.jpg", "photos/3.jpg", "photos/4.jpg", "photos/0.jpg"]
        assert names(result.stdout) == [*expected_names, "gone.jpg"]

    def test_a_list_that_is_not_there_stops_the_run(self, run) -> None:
        result = run("--from-file", "gone.txt")
        assert result.exit_code == 2
        assert "gone.txt: cannot be read: No such file" in result.stderr


def names(stdout: str) -> list[str]:
    return [json.loads(line)["picture"] for line in stdout.splitlines()]


class TestPictures:
    def test_drawings_are_jpeg_files_and_take_no_files_place(self, run, tmp_path) -> None:
        assert "1 picture drawn in new/street.jpg\n" in run(STREET, "--annotate", "new").stderr
        assert "1 picture drawn in new/street-2.jpg\n" in run(STREET, "--annotate", "new").stderr
        drawing = cv2.imread(str(tmp_path / "new" / "street.jpg"))
        street = cv2.imread(str(STREET))
        assert drawing.shape == street.shape
        assert np.abs(drawing[20:46, 8:113].astype(int) - street[20:46, 8:113]).max() > 60

    def test_plates_that_cannot_be_read_are_drawn_where_all_are_wanted(
        self, run, tmp_path, monkeypatch
    ) -> None:
        monkeypatch.setattr(FakeClient, "plates", (UNREAD,))
        run(STREET, "--annotate", "read", "--png")
        run(STREET, "--annotate", "all", "--png", "--all")
        drawing, full_drawing = (
            cv2.imread(str(tmp_path / folder / "street.png")) for folder in ("read", "all")
        )
        assert np.array_equal(drawing, cv2.imread(str(STREET)))
        assert not np.array_equal(full_drawing, drawing)

    def test_drawings_and_crops_are_no_pictures_of_a_folder(
        self, run, tmp_path, monkeypatch
    ) -> None:
        monkeypatch.setattr(FakeClient, "plates", (PLATE, UNREAD))
        messages = run(STREET, STREET, "--annotate", "made", "--crops", "made").stderr.splitlines()
        assert messages[-3:-1] == ["2 pictures drawn in made", "4 plates cut out to made"]
        run(STREET, "--annotate", "made", "--crops", "made", "--png")
        names = {path.name for path in (tmp_path / "made").iterdir()}
        assert names >= {"street-1-A001AA77.jpg", "street-2.jpg", "street.jpg", "street.png"}
        result = run("made")
        assert result.exit_code == 2
        assert f"skipped {len(names)} files that an earlier --annotate or --crops" in result.stderr

    def test_plates_are_told_though_they_cannot_be_drawn(self, run, tmp_path) -> None:
        (tmp_path / "file").touch()
        result = run(STREET, "--annotate", "file")
        assert result.exit_code == 1
        assert "A001AA77" in result.stdout
        assert re.match(rf"{STREET}: file/street.jpg: cannot be written: .*\n", result.stderr)

    def test_nor_be_unpacked_here(self, run, tmp_path) -> None:
        (tmp_path / "car.jpg").write_bytes(b"a picture that the server alone can read")
        result = run("car.jpg", "--annotate", "drawn", "--jsonl", "out.jsonl")
        assert result.exit_code == 1
        assert "A001AA77" in (tmp_path / "out.jsonl").read_text()
        assert result.stderr.startswith("car.jpg: cannot be drawn: wanted a JPEG, PNG, ")


class TestFiles:
    def test_a_table_has_a_row_for_each_plate_and_for_each_picture_without(
        self, run, photos, tmp_path, monkeypatch
    ) -> None:
        monkeypatch.setattr(FakeClient, "plates", (PLATE, UNREAD))
        run("photos/1.jpg", "photos/2.jpg", "--csv", "out.csv")
        monkeypatch.setattr(FakeClient, "plates", ())
        run("photos/1.jpg", "--csv", "none.csv")
        first_row, second_row, failed_row = rows_in(tmp_path / "out.csv")
        (empty_row,) = rows_in(tmp_path / "none.csv")
        assert (first_row["text"], first_row["x0"], first_row["region"]) == (
            "A001AA77",
            "10.4",
            "Moscow",
        )
        assert (second_row["plate"], second_row["plates"], second_row["text"]) == ("2", "2", "")
        assert (failed_row["error"], failed_row["plates"]) == ("wanted a picture, got junk", "")
        assert (empty_row["picture"], empty_row["plates"], empty_row["text"]) == (
            "photos/1.jpg",
            "0",
            "",
        )

    @pytest.mark.parametrize("option", ["--csv", "--excel", "--jsonl"])
    def test_standard_output_has_what_a_file_would_have(
        self, run, tmp_path, capfd, option: str
    ) -> None:
        assert run(STREET, option, "-").stdout == ""
        output = capfd.readouterr().out
        run(STREET, option, "results")
        assert output == (tmp_path / "results").read_text()
        assert "A001AA77" in output
        assert not (tmp_path / "-").exists()

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param(("--csv", "-", "--json"), id="two kinds"),
            pytest.param(("--csv", "-", "--resume"), id="to go on"),
            pytest.param(("--parquet", "-"), id="Parquet"),
        ],
    )
    def test_standard_output_holds_one_kind_of_text(self, run, options: tuple[str, ...]) -> None:
        result = run(STREET, *options)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "wanted" in result.stderr

    def test_a_note_about_a_picture_is_told(self, run, monkeypatch) -> None:
        assert "note" not in json.loads(run(STREET, "--json").stdout)
        monkeypatch.setattr(FakeClient, "note", "it has no end")
        result = run(STREET, "--json")
        assert json.loads(result.stdout)["note"] == "it has no end"
        assert "street.jpg: it has no end" in result.stderr

    def test_parquet_has_the_same_rows(self, run, photos, tmp_path) -> None:
        parquet = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)
        run("photos", "--parquet", "out.parquet")
        table = parquet.read_table(tmp_path / "out.parquet").to_pylist()
        assert [row["picture"] for row in table] == [f"photos/{n}.jpg" for n in range(5)]
        assert (table[0]["text"], table[0]["plates"]) == ("A001AA77", 1)
        assert table[2]["error"] == "wanted a picture, got junk"

    def test_parquet_says_what_it_needs_before_anything_is_sent(self, run, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        result = run(STREET, "--parquet", "out.parquet")
        assert result.exit_code == 2
        assert result.stderr.startswith("plates: --parquet: wanted the package pyarrow, got: ")
        assert result.stderr.endswith("; pip install 'pyarrow<26' brings it\n")
        assert FakeClient.calls == []

    def test_a_file_that_is_there_is_not_overwritten(self, run, tmp_path) -> None:
        (tmp_path / "out.csv").write_text("mine")
        result = run(STREET, "--csv", "out.csv")
        assert result.exit_code == 2
        assert result.stderr.startswith(
            "plates: out.csv is there already: --resume goes on with it"
        )
        assert (tmp_path / "out.csv").read_text() == "mine"

    def test_letters_can_be_cyrillic(self, run, tmp_path) -> None:
        result = run(STREET, "--cyrillic", "--jsonl", "out.jsonl", "--annotate", "drawn")
        expected_text = (
            "\N{CYRILLIC CAPITAL LETTER A}001" + 2 * "\N{CYRILLIC CAPITAL LETTER A}" + "77"
        )
        assert result.stdout == ""  # a table only where no file is asked for
        assert expected_text in (tmp_path / "out.jsonl").read_text(encoding="utf-8")
        assert expected_text in run(STREET, "--cyrillic").stdout
        assert (tmp_path / "drawn" / "street.jpg").exists()


class TestResume:
    def test_only_what_has_no_answer_is_done(self, run, photos, tmp_path) -> None:
        files = ("--jsonl", "out.jsonl", "--csv", "out.csv")
        run("photos/0.jpg", "photos/2.jpg", "photos/4.jpg", *files)
        FakeClient.calls.clear()
        result = run("photos", *files, "--resume")
        order = [f"photos/{n}.jpg" for n in (0, 4, 1, 2, 3)]  # what failed is tried again
        assert names_in(tmp_path / "out.jsonl") == order
        assert [row["picture"] for row in rows_in(tmp_path / "out.csv")] == order
        assert len(FakeClient.calls) == 3
        assert "2 pictures were done before" in result.stderr

    def test_it_wants_a_file_of_results_and_leaves_another_alone(self, run, tmp_path) -> None:
        result = run(STREET, "--resume")
        assert (result.exit_code, "wanted --jsonl, --csv or --excel" in result.stderr) == (2, True)
        (tmp_path / "out.csv").write_text("name,age\nme,40\n")
        result = run(STREET, "--csv", "out.csv", "--resume")
        assert result.exit_code == 2
        assert "wanted a CSV file that begins picture,error," in result.stderr
        assert (tmp_path / "out.csv").read_text() == "name,age\nme,40\n"


class TestWhich:
    def test_unsure_plates_can_be_left_out(self, run, monkeypatch) -> None:
        monkeypatch.setattr(FakeClient, "plates", (PLATE, UNREAD))
        _, row = run(STREET, "--min-score", "0.5").stdout.splitlines()
        assert row.endswith(f"  {STREET}")

    def test_plates_of_a_list_are_flagged(self, run, tmp_path) -> None:
        (tmp_path / "list.txt").write_text("A001AA78 stolen 2026\n")
        result = run(STREET, "--watchlist", "list.txt", "--distance", "1")
        expected_flag = "ON THE WATCHLIST: A001AA78, 1 character differs (stolen 2026)"
        assert expected_flag in result.stdout
        assert "1 plate found, 1 read, 1 on the watchlist" in result.stderr
        output = run(STREET, "--watchlist", "list.txt", "--distance", "1", "--json").stdout
        (plate,) = json.loads(output)["plates"]
        assert plate["watchlist"] == {"plate": "A001AA78", "note": "stolen 2026", "distance": 1}

    def test_a_plate_of_a_list_is_shown_though_it_is_not_sure(
        self, run, tmp_path, monkeypatch
    ) -> None:
        (tmp_path / "list.txt").write_text("M456OP19\n")
        monkeypatch.setattr(FakeClient, "plates", NOISE)
        _, row, last_line = run(STREET, "--watchlist", "list.txt").stdout.splitlines()
        assert row.endswith("  not sure enough to say, maybe M456OP19; ON THE WATCHLIST: M456OP19")
        assert last_line.startswith("and 1 that cannot be read ")

    def test_parameters_go_along(self, run) -> None:
        run(STREET, "--roi", "0,0,300,200", "--max-plates", "3")
        assert FakeClient.calls == [{"roi": "0,0,300,200", "max_plates": 3}]


class TestQuiet:
    def test_only_the_table_and_errors_are_printed(self, run, photos) -> None:
        (photos / "a.gif").touch()
        result = run("photos", "--quiet")
        assert result.exit_code == 1
        assert len(result.stdout.splitlines()) == 5
        assert result.stderr == "photos/2.jpg: wanted a picture, got junk\n"

    @pytest.mark.parametrize("option", ["--csv", "--jsonl", "--annotate", "--crops"])
    def test_there_is_no_table_beside_files(self, run, tmp_path, option: str) -> None:
        result = run(STREET, "--quiet", option, "out")
        assert (result.exit_code, result.output) == (0, "")
        assert (tmp_path / "out").exists()


class TestOwnServer:
    @pytest.mark.parametrize(
        ("option", "value"), [("--device", "cpu"), ("--threads", "2"), ("--formats", "here.toml")]
    )
    def test_its_options_are_refused_with_a_url(self, run, option: str, value: str) -> None:
        result = run(STREET, option, value)
        assert result.exit_code == 2
        assert result.stderr == (
            f"plates: {option}: wanted without --url, got both; the server at somewhere:1 was "
            "started with options of its own\n"
        )
        assert FakeClient.calls == []

    def test_a_variable_is_not_refused(self, run, monkeypatch) -> None:
        monkeypatch.setenv("PLATE_FORMATS", "here.toml")
        assert run(STREET).exit_code == 0

    def test_formats_are_for_a_watchlist(self, run, tmp_path) -> None:
        (tmp_path / "list.txt").write_text("A001AA77\n")
        formats = PROJECT / "weights" / "formats.toml"
        result = run(STREET, "--watchlist", "list.txt", "--formats", formats)
        assert result.exit_code == 0
        assert "ON THE WATCHLIST: A001AA77" in result.stdout


def test_missing_weights_are_one_sentence(tmp_path) -> None:
    result = CliRunner().invoke(app, ["export", "--weights", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert result.output.startswith("plates: weights: no such folder: ")
    assert result.output.count("\n") == 1


@pytest.fixture
def clients(run, monkeypatch) -> list[FakeClient]:
    """The clients that the command creates."""
    clients: list[FakeClient] = []

    def make(url: str, **options: object) -> FakeClient:
        clients.append(FakeClient(url, **options))
        return clients[-1]

    monkeypatch.setattr("orchestrator.client.PlateClient", make)
    return clients


def test_a_key_comes_from_the_command_line_or_the_environment(run, clients, monkeypatch) -> None:
    run(STREET)
    run(STREET, "--key", "plk_given", "--timeout", "5", "--retries", "2")
    monkeypatch.setenv("PLATES_KEY", "plk_set")
    run(STREET)
    assert [(client.url, client.key) for client in clients] == [
        ("somewhere:1", None),
        ("somewhere:1", "plk_given"),
        ("somewhere:1", "plk_set"),
    ]
    assert (clients[1].timeout_s, clients[1].retries) == (5.0, 2)


def test_a_server_of_its_own_is_shown_no_key(run, clients, monkeypatch) -> None:
    own = "orchestrator.cli.chosen_server.reach_server"
    monkeypatch.setattr(own, lambda url, **options: nullcontext("own:1"))
    CliRunner().invoke(app, ["recognize", str(STREET), "--key", "plk_given"])
    assert [(client.url, client.key) for client in clients] == [("own:1", None)]


def test_a_server_for_one_picture_has_one_worker(run, clients, monkeypatch) -> None:
    picture_counts = []

    def reach(url: str | None, **options: object) -> nullcontext[str]:
        picture_counts.append(options["pictures"])
        return nullcontext("own:1")

    monkeypatch.setattr("orchestrator.cli.chosen_server.reach_server", reach)
    for names in ([str(STREET)], [str(STREET), str(STREET)], [str(STREET.parent / "*.jpg")]):
        CliRunner().invoke(app, ["recognize", *names])
    assert picture_counts == [1, 0, 0]


def test_an_invalid_key_is_one_sentence_without_it() -> None:
    arguments = ["recognize", str(STREET), "--url", "localhost:9", "--key", "hush hush"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.output.startswith("plates: key: wanted printable ASCII")
    assert "hush" not in result.output


def test_a_server_that_is_not_there_is_told_with_what_to_do() -> None:
    result = CliRunner().invoke(app, ["recognize", str(STREET), "--url", "localhost:1"])
    assert result.exit_code == 2
    message = (
        "cannot connect to localhost:1: connection refused. Is the server running? (plates serve)"
    )
    assert message in result.stderr
