"""`plates recognize`: which pictures are read, and what is printed of them."""

import json
import re
import zipfile

import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.imaging import heic
from tests.cli.recognize.fake_client import AWAY, NOISE, PLATE, UNREAD, FakeClient, names_in
from tests.imaging.heic_files import heic_of
from tests.samples import STREET


class TestTable:
    def test_each_plate_of_many_pictures_is_a_row_and_the_last_line_sums_up(
        self, run, photo_folder
    ) -> None:
        result = run(photo_folder)
        head, *rows = result.stdout.splitlines()
        assert head.startswith("plate ")
        assert [row.split() for row in rows] == [
            ["A001AA77", "0.98", "ru_car", "10", "21", "110", "45", f"{photo_folder}/{n}.jpg"]
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
    def test_it_is_in_the_json(self, run, photo_folder) -> None:
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
        assert len(names_in((tmp_path / "out.jsonl").read_text())) == 10
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
        self, run, photo_folder, monkeypatch, names: tuple[str, ...], messages: list[str]
    ) -> None:
        monkeypatch.setattr(heic, "can_read", lambda: False)
        for name in names:
            (photo_folder / name).touch()
        lines = run(photo_folder).stderr.splitlines()[:-1]
        assert lines[-len(messages) :] == [f"skipped {messages[0]}", *messages[1:]]

    def test_a_heic_file_of_a_folder_is_recognised_and_drawn(self, run, tmp_path) -> None:
        (tmp_path / "phone").mkdir()
        (tmp_path / "phone" / "IMG_1.HEIC").write_bytes(heic_of(STREET))
        result = run("phone", "--json", "--annotate", "drawn")
        assert result.exit_code == 0, result.stderr
        assert names_in(result.stdout) == ["phone/IMG_1.HEIC"]
        assert [path.name for path in (tmp_path / "drawn").iterdir()] == ["IMG_1.jpg"]


class TestSources:
    def test_a_picture_comes_from_standard_input(self, run) -> None:
        result = run("-", "--json", input=STREET.read_bytes())
        assert json.loads(result.stdout)["picture"] == "-"

    def test_standard_input_is_named_once(self, run) -> None:
        result = run("-", "--from-file", "-")
        assert result.exit_code == 2
        assert "standard input: wanted it named once" in result.stderr

    def test_archives_patterns_and_lists_keep_their_order(
        self, run, photo_folder, tmp_path
    ) -> None:
        with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
            archive.write(STREET, "inner/car.jpg")
        file_list = "photos/0.jpg\n\ngone.jpg\n"
        result = run("more.zip", "photos/[34].jpg", "--from-file", "-", "--json", input=file_list)
        expected_names = ["more.zip/inner/car.jpg", "photos/3.jpg", "photos/4.jpg", "photos/0.jpg"]
        assert names_in(result.stdout) == [*expected_names, "gone.jpg"]

    def test_a_list_that_is_not_there_stops_the_run(self, run) -> None:
        result = run("--from-file", "gone.txt")
        assert result.exit_code == 2
        assert "gone.txt: cannot be read: No such file" in result.stderr


class TestWhich:
    def test_unsure_plates_can_be_left_out(self, run, monkeypatch) -> None:
        monkeypatch.setattr(FakeClient, "plates", (PLATE, UNREAD))
        _, row = run(STREET, "--min-score", "0.5").stdout.splitlines()
        assert row.endswith(f"  {STREET}")

    def test_a_score_that_is_no_number_stops_the_run(self, run) -> None:
        result = run(STREET, "--min-score", "nan")
        assert result.exit_code == 2
        assert result.stderr == "plates: min_score: wanted 0 to 1, got nan\n"

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
    def test_only_the_table_and_errors_are_printed(self, run, photo_folder) -> None:
        (photo_folder / "a.gif").touch()
        result = run("photos", "--quiet")
        assert result.exit_code == 1
        assert len(result.stdout.splitlines()) == 5
        assert result.stderr == "photos/2.jpg: wanted a picture, got junk\n"

    @pytest.mark.parametrize("option", ["--csv", "--jsonl", "--annotate", "--crops"])
    def test_there_is_no_table_beside_files(self, run, tmp_path, option: str) -> None:
        result = run(STREET, "--quiet", option, "out")
        assert (result.exit_code, result.output) == (0, "")
        assert (tmp_path / "out").exists()
