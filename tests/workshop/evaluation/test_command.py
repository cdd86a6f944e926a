"""The command on rendered scenes, in process, and what it writes."""

import csv
import shutil
from pathlib import Path

import cv2
import pytest
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.networks.weights import WEIGHTS, list_sums
from tests.workshop.evaluation.streets import write_streets
from workshop.evaluation.conditions import CONDITIONS, EVERY_CONDITION
from workshop.evaluation.measurement import measure_detection, measure_reading
from workshop.evaluation.reading_files import write_reading
from workshop.evaluation.results import Decoding, Report
from workshop.reporting.files import read_report


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Two streets; the last plate's label is wrong on purpose, and a plate is none."""
    folder = write_streets(tmp_path_factory.mktemp("data"), ["A123BC77"], ["M456OP199"])
    labels = (folder / "labels.csv").read_text().replace("M456OP199", "M456OP198")
    (folder / "labels.csv").write_text(f"{labels}0.png,B001BB77,std,0,0,5,5\n")
    return folder


def evaluate(*arguments: object):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "new"
    result = evaluate(
        data, "--detection", data, "--out", out, "--threads", 1, "--name", "first",
        "--engine", "torchscript",
    )  # fmt: skip
    return result, out


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class TestRenderedScenes:
    def test_the_report_holds_figures_settings_and_weights(self, done) -> None:
        result, out = done
        assert result.exit_code == 0, result.output
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
        assert (report.name, report.way) == ("first", "in process")
        assert report.engines == dict.fromkeys(("yolo", "stn", "lprnet"), "torchscript")

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
        assert table.startswith("|  | second | first |\n")
        assert "| not shown | 1 | 0 |\n" in table
        assert "| mAP50 | - | 1.000 |\n" in table
        assert "left out are 0 plates of second alone and 1 of first alone" in table
        assert "2 std plates, won 0, lost 1: p = 1, may be chance." in table
        assert "| lost | 0.png | A123BC77 | A123BC77 (not shown) | A123BC77 (read) |\n" in table
        assert table.rstrip() in result.stdout
        (changed,) = rows_of(tmp_path / "changed.csv")
        assert (changed["against"], changed["change"], changed["wanted"]) == (
            "first", "lost", "A123BC77",
        )  # fmt: skip
        assert cv2.imread(str(tmp_path / "changed_1.png")) is not None
        assert not (tmp_path / ".gitignore").exists()  # the folder was there before

    def test_ignored_plates_are_told_of(self, data: Path, tmp_path: Path) -> None:
        ignore = tmp_path / "ignore.csv"
        ignore.write_text("image,x0,y0,x1,y1\n1.png,0,0,960,720\n")
        evaluate("--detection", data, "--out", tmp_path, "--ignore", ignore, "--threads", 1)
        report = read_report(Report, tmp_path / "report.json")
        assert report.detection is not None
        assert report.detection.ignored == 1
        assert report.reading is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), "data: wanted a folder of scenes or --detection", id="no data"),
        pytest.param(
            ("--detection", "x", "--conditions"), "conditions: wanted a folder", id="no scenes"
        ),
        pytest.param(("nowhere",), "nowhere/images: wanted a folder, got none", id="no folder"),
        pytest.param(("x", "--url", "x:1", "--engine", "openvino"), "url: a running", id="engine"),
        pytest.param(("x", "--url", "x:1", "--triton"), "url: a running server", id="both"),
    ],
)
def test_errors_are_one_sentence(arguments: tuple[str, ...], message: str) -> None:
    result = evaluate(*arguments)
    assert result.exit_code == 2
    assert result.output.startswith(f"plates: {message}")


@pytest.fixture(scope="module")
def under_conditions(data: Path, tmp_path_factory):
    """Every second picture, which is the first street."""
    out = tmp_path_factory.mktemp("conditions")
    arguments = (data, "--conditions", "--every", 2, "--threads", 1, "--engine", "openvino")
    return evaluate(*arguments, "--out", out), out


class TestConditions:
    def test_the_table_tells_of_every_condition(self, under_conditions) -> None:
        result, out = under_conditions
        assert result.exit_code == 0, result.output
        report = read_report(Report, out / "report.json")
        assert report.conditions is not None
        assert report.data.every == 2
        assert [one.std.plates for one in report.conditions.each] == [2] * len(CONDITIONS)
        first = report.conditions.each[0]
        assert (first.name, first.std.read, first.std.missed) == ("as it is", 1, 1)
        assert "conditions, 2 standard plates in each" in result.stdout
        assert "28 of 28, smeared 21 px" in result.stderr

    def test_tables_are_files(self, under_conditions) -> None:
        _, out = under_conditions
        rows = rows_of(out / "conditions.csv")
        assert [row["condition"] for row in rows] == [
            *(condition.name for condition in CONDITIONS), "mean of 16",
        ]  # fmt: skip
        assert (rows[0]["read"], rows[0]["read_rate"]) == ("1", "0.5")
        plates = rows_of(out / "condition_plates.csv")
        assert len(plates) == 2 * len(EVERY_CONDITION)
        assert (plates[0]["condition"], plates[0]["wanted"], plates[0]["verdict"]) == (
            "as it is", "A123BC77", "read",
        )  # fmt: skip
        curves = {row["curve"] for row in rows_of(out / "condition_curves.csv")}
        assert curves == {"width of the plate, px", "turn, degrees", "smear, px"}
        assert rows_of(out / "condition_reliability.csv")[-1]["high"] == "1.0"

    def test_plots_are_pictures(self, under_conditions) -> None:
        _, out = under_conditions
        names = ("condition_curves", "condition_errors", "condition_reliability")
        assert all(cv2.imread(str(out / f"{name}.png")) is not None for name in names)

    def test_another_evaluation_stands_beside_it(
        self, under_conditions, data: Path, tmp_path: Path
    ) -> None:
        _, out = under_conditions
        result = evaluate(
            data, "--conditions", "--every", 2, "--threads", 1, "--out", tmp_path,
            "--stn", WEIGHTS / "stn.pth", "--lprnet", WEIGHTS / "lprnet.pth", "--name", "other",
            "--engine", "openvino", "--against", out / "report.json",
        )  # fmt: skip
        table = (tmp_path / "comparison.md").read_text()
        assert "|  | other: read | other: wrong of shown | other: ECE | ours: read |" in table
        assert "| as it is | 50.0 % | 0.0 % |" in table
        assert "| smear, px | 0 | 3 |" in table
        assert table.rstrip() in result.stdout

    def test_a_report_without_conditions_has_no_files_of_them(self, done) -> None:
        _, out = done
        assert read_report(Report, out / "report.json").conditions is None
        assert list(out.glob("condition*")) == []


def test_another_setting_is_measured_with(data: Path, tmp_path: Path) -> None:
    arguments = (data, "--out", tmp_path, "--threads", 1, "--limit", 1)
    assert evaluate(*arguments, "--set", "detector_side_px=640").exit_code == 0
    assert read_report(Report, tmp_path / "report.json").settings.detector_side_px == 640


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "detector_side_px"], "set: wanted NAME=VALUE, got detector_side_px"),
        (["--set", "colour=red"], "parameters: wanted some of"),
        (["--text-threshold", "2"], "text_threshold: wanted 0 to 1, got 2"),
        (["--set", "detector_side_px=640", "--triton"], "set: the settings of a server"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    data: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = evaluate(data, "--out", tmp_path, "--threads", 1, *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_network_without_its_8_bit_form_is_told_as_float32(data: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    shutil.copytree(WEIGHTS, weights, ignore=shutil.ignore_patterns("*.int8.*"))
    list_sums(weights)
    arguments = (data, "--engine", "openvino-int8", "--threads", 1, "--limit", 1)
    result = evaluate(*arguments, "--weights", weights, "--out", tmp_path / "run")
    assert result.stdout.startswith("in process, yolo openvino, stn openvino, lprnet openvino\n")
    assert evaluate(*arguments, "--out", tmp_path / "ours").stdout.startswith(
        "in process, yolo openvino-int8, stn openvino, lprnet openvino\n"
    )


def test_reports_of_the_same_weights_are_told_apart_by_their_folders(
    data: Path, tmp_path: Path
) -> None:
    arguments = (data, "--engine", "torchscript", "--threads", 1, "--limit", 1)
    evaluate(*arguments, "--out", tmp_path / "first")
    first = tmp_path / "first/report.json"
    result = evaluate(*arguments, "--out", tmp_path / "second", "--against", first)
    assert "ours against ours (first): 2 std plates, won 0, lost 0" in result.stdout


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


@pytest.mark.photos
def test_real_scenes_are_counted_as_the_official_check_counts(photos: Path, tmp_path: Path) -> None:
    from orchestrator.imaging.decoding import read_picture
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
