"""`plates recognize`: drawings, crops and files of results."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.cli.recognize.fake_client import PLATE, UNREAD, FakeClient, names_in
from tests.samples import STREET


def rows_in(path: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(path.read_text()))]


class TestDrawings:
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


class TestResultFiles:
    def test_a_table_has_a_row_for_each_plate_and_for_each_picture_without(
        self, run, photo_folder, tmp_path, monkeypatch
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
            pytest.param(("--csv", "out", "--jsonl", "./out"), id="one file for two kinds"),
        ],
    )
    def test_every_output_holds_one_kind_of_text(self, run, options: tuple[str, ...]) -> None:
        result = run(STREET, *options)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "wanted" in result.stderr

    def test_a_note_about_a_picture_is_told(self, run, monkeypatch) -> None:
        assert "note" not in json.loads(run(STREET, "--json").stdout)
        monkeypatch.setattr(FakeClient, "note", "it has no end")
        result = run(STREET, "--json")
        assert json.loads(result.stdout)["note"] == "it has no end"
        assert "street.jpg: it has no end" in result.stderr

    def test_parquet_has_the_same_rows(self, run, photo_folder, tmp_path) -> None:
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

    def test_a_folder_is_no_file_of_results(self, run, tmp_path) -> None:
        result = run(STREET, "--csv", tmp_path)
        assert result.exit_code == 2
        assert "wanted the name of a file for results, got a folder" in result.stderr

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
    def test_only_what_has_no_answer_is_done(self, run, photo_folder, tmp_path) -> None:
        files = ("--jsonl", "out.jsonl", "--csv", "out.csv")
        run("photos/0.jpg", "photos/2.jpg", "photos/4.jpg", *files)
        FakeClient.calls.clear()
        result = run("photos", *files, "--resume")
        order = [f"photos/{n}.jpg" for n in (0, 4, 1, 2, 3)]  # what failed is tried again
        assert names_in((tmp_path / "out.jsonl").read_text()) == order
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
