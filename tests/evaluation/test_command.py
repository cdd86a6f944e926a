"""The command on rendered scenes, in process, and what it writes."""

import csv
import subprocess
import sys
from pathlib import Path

import cv2
import pytest
import torch
from typer.testing import CliRunner

from evaluation.measurement import measure_detection, measure_reading
from evaluation.reading_files import write_reading
from evaluation.recognizers import RecognizerOptions
from evaluation.results import Decoding, Report
from evaluation.run import Task, run
from evaluation.yolo_labels import write_labels
from orchestrator.cli.app import app
from orchestrator.errors import DataError
from orchestrator.networks.weights import WEIGHTS
from rendering.scenery import scene
from reporting.files import read_report

TEXTS = ("A123BC77", "M456OP199")
SIZE_WH = (960, 720)


def write_data(folder: Path) -> Path:
    """Two rendered streets, labelled both ways; the last plate's label is wrong on purpose."""
    for path in ("images", "detection/images/val", "detection/labels/val"):
        (folder / path).mkdir(parents=True)
    rows = ["image,text,type,x0,y0,x1,y1"]
    for index, text in enumerate(TEXTS):
        drawn = scene([text], SIZE_WH, seed=index)
        name = f"{index}.png"
        cv2.imwrite(str(folder / "images" / name), drawn.picture)
        cv2.imwrite(str(folder / "detection/images/val" / name), drawn.picture)
        x0, y0, x1, y1 = (float(side) for side in drawn.xyxy[0])
        rows.append(f"{name},{text},std,{x0 - 9},{y0 - 9},{x1 + 9},{y1 + 9}")
        write_labels(folder / f"detection/labels/val/{index}.txt", [(x0, y0, x1, y1)], SIZE_WH)
    rows[-1] = rows[-1].replace("M456OP199", "M456OP198")
    rows.append("0.png,B001BB77,std,0,0,5,5")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def evaluate(*arguments: object):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "new"
    result = evaluate(
        data, "--detection", data / "detection", "--out", out, "--threads", 1, "--name", "first",
        "--engine", "torchscript",
    )  # fmt: skip
    return result, out


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class TestRenderedScenes:
    def test_the_tables_are_printed(self, done) -> None:
        result, _ = done
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("in process, engine torchscript\n")
        assert "Reading: 1 of 3 standard plates read exactly, 33.3 %" in result.stdout
        assert "8 as 9 1" in result.stdout
        assert "Detection: 2 plates in 2 pictures, mAP50 1.000" in result.stdout

    def test_the_report_holds_figures_settings_and_weights(self, done) -> None:
        _, out = done
        report = read_report(Report, out / "report.json")
        assert report.reading is not None
        assert report.detection is not None
        std = report.reading.std
        assert (std.found, std.read, std.wrong, std.missed) == (2, 1, 1, 1)
        assert report.reading.characters.error_rate == pytest.approx(1 / 17)
        assert report.reading.decoding == Decoding(best_path=1, free_beam=1, format_beam=1)
        assert report.detection.at_threshold.recall == 1
        assert report.settings.text_threshold == 0.5
        assert set(report.weights_sha256) == {"yolo", "stn", "lprnet"}
        assert (report.name, report.way, report.engine) == ("first", "in process", "torchscript")

    def test_every_labelled_plate_has_a_row(self, done) -> None:
        _, out = done
        rows = {row["wanted"]: row for row in rows_of(out / "plates.csv")}
        assert {text: row["verdict"] for text, row in rows.items()} == {
            "A123BC77": "read",
            "M456OP198": "wrong",
            "B001BB77": "missed",
        }
        assert rows["M456OP198"]["shown"] == "M456OP199"
        assert [row["wanted"] for row in rows_of(out / "misses.csv")] == ["B001BB77", "M456OP198"]

    def test_every_labelled_box_has_a_row(self, done) -> None:
        _, out = done
        kinds = [row["kind"] for row in rows_of(out / "detections.csv")]
        assert kinds.count("hit") == 2
        assert "miss" not in kinds

    def test_plots_and_sheets_are_pictures(self, done) -> None:
        _, out = done
        names = ("coverage", "reliability", "precision_recall", "misses_1")
        assert all(cv2.imread(str(out / f"{name}.png")) is not None for name in names)
        assert not (out / "missed_boxes_1.png").exists()

    def test_a_report_is_compared_with_others(self, done, data: Path, tmp_path: Path) -> None:
        _, out = done
        result = evaluate(
            data, "--out", tmp_path, "--against", out / "report.json", "--limit", 1,
            "--name", "second", "--threads", 1, "--text-threshold", 1,
            "--stn", WEIGHTS / "stn.pth",
        )  # fmt: skip
        table = (tmp_path / "comparison.md").read_text()
        assert table.startswith("|  | second | first |\n| --- | ---: | ---: |\n")
        assert "| standard plates | 2 | 3 |\n" in table
        assert "| not shown | 1 | 0 |\n" in table
        assert "| mAP50 | - | 1.000 |\n" in table
        assert table.rstrip() in result.stdout
        assert not (tmp_path / ".gitignore").exists()  # the folder was there before

    def test_ignored_plates_are_told_of(self, data: Path, tmp_path: Path) -> None:
        ignore = tmp_path / "ignore.csv"
        ignore.write_text("image,x0,y0,x1,y1\n1.png,0,0,960,720\n")
        evaluate(
            "--detection", data / "detection", "--out", tmp_path, "--ignore", ignore, "--threads", 1
        )
        report = read_report(Report, tmp_path / "report.json")
        assert report.detection is not None
        assert report.detection.ignored == 1
        assert report.reading is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), "data: wanted a folder of scenes or --detection", id="no data"),
        pytest.param(("nowhere",), "nowhere/images: wanted a folder, got none", id="no folder"),
        pytest.param(
            ("x", "--url", "x:1", "--stn", "y.pth"),
            "url: a running server",
            id="url and stn",
        ),
        pytest.param(
            ("x", "--url", "x:1", "--engine", "openvino"),
            "url: a running server",
            id="url and engine",
        ),
        pytest.param(("x", "--url", "x:1", "--triton"), "url: a running server", id="both"),
    ],
)
def test_errors_are_one_sentence(arguments: tuple[str, ...], message: str) -> None:
    result = evaluate(*arguments)
    assert result.exit_code == 2
    assert result.output.startswith(f"plates: {message}")


def test_a_threshold_out_of_range_is_refused(data: Path, tmp_path: Path) -> None:
    result = evaluate(data, "--out", tmp_path, "--threads", 1, "--text-threshold", 2)
    assert "text_threshold: wanted 0 to 1, got 2" in result.output


def test_another_setting_is_measured_with(data: Path, tmp_path: Path) -> None:
    arguments = (data, "--out", tmp_path, "--threads", 1, "--limit", 1)
    assert evaluate(*arguments, "--set", "detector_side_px=640").exit_code == 0
    assert read_report(Report, tmp_path / "report.json").settings.detector_side_px == 640


def test_our_own_detector_runs_in_8_bits_and_anothers_in_float32(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = (data, "--out", tmp_path, "--limit", 1, "--engine", "openvino-int8")
    assert evaluate(*arguments, "--threads", 1).exit_code == 0
    assert read_report(Report, tmp_path / "report.json").engine == "openvino-int8"
    assert "made from other weights" not in caplog.text
    other = tmp_path / "other.pt"
    torch.save(torch.load(WEIGHTS / "yolo.pt", weights_only=True), other)
    assert evaluate(*arguments, "--threads", 1, "--yolo", other).exit_code == 0
    assert "made from other weights than yolo.pt" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "detector_side_px"], "set: wanted NAME=VALUE, got detector_side_px"),
        (["--set", "colour=red"], "parameters: wanted some of"),
        (["--set", "detector_side_px=640", "--triton"], "set: the settings of a server"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    data: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = evaluate(data, "--out", tmp_path, "--threads", 1, *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_an_unreadable_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_text("no picture")
    (tmp_path / "labels.csv").write_text(
        "image,text,type,x0,y0,x1,y1\na.jpg,A001AA77,std,0,0,9,9\n"
    )
    result = evaluate(tmp_path, "--out", tmp_path / "out", "--threads", 1)
    assert "a.jpg: wanted a readable picture" in result.output


def test_a_folder_that_cannot_be_written_is_named(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file: cannot write here: File exists"):
        run(Task(tmp_path / "file", scenes=data), RecognizerOptions())


def test_an_old_report_to_compare_with_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"name": "old", "reading": {"std": {}}}')
    result = evaluate(data, "--out", tmp_path / "new", "--against", tmp_path / "old.json")
    assert result.exit_code == 2
    assert "old.json: is no such report, or an old one: wanted way, got none" in result.output
    assert not (tmp_path / "new").exists()


def test_nothing_found_is_a_report_all_the_same(tmp_path: Path) -> None:
    reading = measure_reading([])
    write_reading(reading, [], 0.3, tmp_path)
    assert reading.std.read_rate is None
    assert rows_of(tmp_path / "coverage.csv") == []
    assert measure_detection([], 0.25).map50 == 0


def test_help_is_quick() -> None:
    heavy = "{'torch', 'matplotlib', 'cv2', 'pandas'}"
    code = f"import sys, orchestrator.cli.recognize; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.photos
def test_real_scenes_are_counted_as_the_official_check_counts(photos: Path, tmp_path: Path) -> None:
    from orchestrator.images import read_picture
    from orchestrator.networks.export import load_networks
    from orchestrator.pipeline import recognize

    result = evaluate(photos / "scenes", "--out", tmp_path, "--threads", 1, "--limit", 6)
    assert result.exit_code == 0, result.output
    infer = load_networks()
    found = read = 0
    for row in rows_of(photos / "scenes" / "labels.csv")[:6]:
        x0, y0, x1, y1 = (float(row[side]) for side in ("x0", "y0", "x1", "y1"))
        plates = recognize(read_picture(photos / "scenes" / "images" / row["image"]), infer)
        texts = [
            plate.text
            for plate in plates
            if x0 <= (plate.xyxy[0] + plate.xyxy[2]) / 2 <= x1
            and y0 <= (plate.xyxy[1] + plate.xyxy[3]) / 2 <= y1
        ]
        found += bool(texts)
        read += row["text"] in texts
    reading = read_report(Report, tmp_path / "report.json").reading
    assert reading is not None
    assert (reading.std.plates, reading.std.found, reading.std.read) == (6, found, read)
