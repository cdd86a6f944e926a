"""The command in process, with the real networks on rendered streets or with scripted ones."""

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest
from click.testing import Result
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.networks.weights import WEIGHTS, list_sums
from tests.workshop.evaluation.scripted import scripted_networks, write_scenes, write_streets
from workshop.evaluation.conditions.camera_conditions import CONDITIONS, EVERY_CONDITION
from workshop.evaluation.measurement import measure_detection, measure_reading
from workshop.evaluation.report_files.reading_files import write_reading
from workshop.evaluation.results import Decoding, Report
from workshop.reporting.files import read_report

pytestmark = pytest.mark.server


def evaluate(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments), "--threads", "1"])


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no diagrams, which take longest: `first_evaluation` has them."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)


@pytest.fixture(scope="module")
def first_evaluation(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """Streets: the last label is wrong on purpose, and another one is at no plate."""
    data, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("report") / "new"
    write_streets(data, ["A123BC77"], ["M456OP199"], size_wh=(640, 480))
    labels = (data / "labels.csv").read_text().replace("M456OP199", "M456OP198")
    (data / "labels.csv").write_text(f"{labels}0.png,B001BB77,std,0,0,5,5\n")
    arguments = ("--detection", data, "--name", "first", "--engine", "torchscript")
    return evaluate(data, *arguments, "--out", out), out


def test_the_report_holds_figures_settings_and_weights(first_evaluation) -> None:
    result, out = first_evaluation
    assert result.exit_code == 0, result.output
    report = read_report(Report, out / "report.json")
    assert report.reading is not None
    assert report.detection is not None
    std = report.reading.std
    assert (std.found, std.read, std.wrong, std.missed) == (2, 1, 1, 1)
    assert report.reading.characters.error_rate == pytest.approx(1 / 17)
    assert report.reading.decoding == Decoding(best_path=1, format_beam=1)
    assert report.detection.at_threshold.recall == 1
    assert report.settings.text_threshold == 0.6
    assert set(report.weights_sha256) == {"yolo", "stn", "lprnet"}
    assert (report.name, report.way) == ("first", "in process")
    assert report.engines == dict.fromkeys(("yolo", "stn", "lprnet"), "torchscript")
    assert report.conditions is None


def test_every_labelled_plate_and_box_has_a_row(first_evaluation) -> None:
    _, out = first_evaluation
    rows = {row["wanted"]: row for row in rows_of(out / "plates.csv")}
    assert {text: row["verdict"] for text, row in rows.items()} == {
        "A123BC77": "read",
        "M456OP198": "wrong",
        "B001BB77": "missed",
    }
    assert rows["M456OP198"]["shown"] == "M456OP199"
    assert [row["wanted"] for row in rows_of(out / "misses.csv")] == ["B001BB77", "M456OP198"]
    kinds = [row["kind"] for row in rows_of(out / "detections.csv")]
    assert kinds.count("hit") == 2
    assert "miss" not in kinds


def test_plots_and_sheets_are_pictures(first_evaluation) -> None:
    _, out = first_evaluation
    names = ("coverage", "reliability", "precision_recall", "misses_1")
    assert all(cv2.imread(str(out / f"{name}.png")) is not None for name in names)
    assert not (out / "missed_boxes_1.png").exists()
    assert not [*out.glob("condition*")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), "data: wanted a folder of scenes or --detection", id="no data"),
        pytest.param(
            ("--detection", "x", "--conditions"), "conditions: wanted a folder", id="no scenes"
        ),
        pytest.param(("nowhere",), "nowhere/images: wanted a folder, got none", id="no folder"),
        pytest.param(("x", "--url", "x:1", "--engine", "openvino"), "url: a running", id="engine"),
        pytest.param(
            ("x", "--set", "detector_side_px"), "set: wanted NAME=VALUE, got d", id="no value"
        ),
        pytest.param(
            ("x", "--set", "detector_side_px=640", "--url", "x:1"),
            "set: the settings of a server",
            id="a server's setting",
        ),
    ],
)
def test_an_error_is_one_sentence(arguments: tuple[str, ...], message: str) -> None:
    result = evaluate(*arguments)
    assert result.exit_code == 2
    assert result.output.startswith(f"plates: {message}")


@pytest.fixture(scope="module")
def grey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Pictures in which scripted networks read `A123BC77`, as the first label says."""
    with scripted_networks():
        yield write_scenes(tmp_path_factory.mktemp("grey"), "A123BC77", "A123BC78", "B001BB77")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "colour=red"], "parameters: wanted some of"),
        (["--text-threshold", "2"], "text_threshold: wanted 0 to 1, got 2"),
    ],
)
def test_an_impossible_setting_is_refused(
    grey: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = evaluate(grey, "--out", tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.usefixtures("undrawn")
def test_settings_and_ignored_plates_reach_the_report(grey: Path, tmp_path: Path) -> None:
    ignore = tmp_path / "ignore.csv"
    ignore.write_text("image,x0,y0,x1,y1\n1.png,0,0,960,720\n")
    arguments = ("--ignore", ignore, "--set", "detector_side_px=640")
    assert evaluate("--detection", grey, "--out", tmp_path, *arguments).exit_code == 0
    report = read_report(Report, tmp_path / "report.json")
    assert report.detection is not None
    assert report.detection.ignored == 1
    assert report.reading is None
    assert report.settings.detector_side_px == 640


@pytest.mark.usefixtures("undrawn")
def test_a_report_is_compared_with_others(grey: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    second.mkdir()
    evaluate(grey, "--detection", grey, "--out", first, "--limit", 2)
    arguments = ("--against", first / "report.json", "--limit", 1, "--text-threshold", 1)
    result = evaluate(grey, "--out", second, *arguments)
    table = (second / "comparison.md").read_text()
    # Both have the same weights, so the folder tells them apart.
    assert table.startswith("|  | ours | ours (first) |\n")
    assert "| not shown | 1 | 0 |\n" in table
    assert "| mAP50 | - | 1.000 |\n" in table
    assert "left out are 0 plates of ours alone and 1 of ours (first) alone" in table
    assert "1 std plates, won 0, lost 1: p = 1, may be chance." in table
    assert "| lost | 0.png | A123BC77 | A123BC77 (not shown) | A123BC77 (read) |\n" in table
    assert table.rstrip() in result.stdout
    (changed_row,) = rows_of(second / "changed.csv")
    assert (changed_row["against"], changed_row["change"], changed_row["wanted"]) == (
        "ours (first)", "lost", "A123BC77",
    )  # fmt: skip
    assert cv2.imread(str(second / "changed_1.png")) is not None
    assert (first / ".gitignore").exists()
    assert not (second / ".gitignore").exists()  # the folder was there before


@pytest.fixture(scope="module")
def under_conditions(grey: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """Every second picture of three; the networks misread the second of these."""
    out = tmp_path_factory.mktemp("conditions")
    return evaluate(grey, "--conditions", "--every", 2, "--out", out), out


def test_the_table_has_every_condition(under_conditions) -> None:
    result, out = under_conditions
    assert result.exit_code == 0, result.output
    report = read_report(Report, out / "report.json")
    assert report.conditions is not None
    assert report.data.every == 2
    assert [condition.std.plates for condition in report.conditions.each] == [2] * len(CONDITIONS)
    first = report.conditions.each[0]
    assert (first.name, first.std.read, first.std.wrong) == ("as it is", 1, 1)
    assert "conditions, 2 standard plates in each" in result.stdout
    assert "28 of 28, smeared 21 px" in result.stderr


def test_tables_and_plots_are_files(under_conditions) -> None:
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
    names = ("condition_curves", "condition_errors", "condition_reliability")
    assert all(cv2.imread(str(out / f"{name}.png")) is not None for name in names)


@pytest.mark.usefixtures("undrawn")
def test_another_evaluation_stands_beside_it(under_conditions, grey: Path, tmp_path: Path) -> None:
    _, out = under_conditions
    result = evaluate(
        grey, "--conditions", "--every", 2, "--out", tmp_path, "--name", "other",
        "--stn", WEIGHTS / "stn.pth", "--lprnet", WEIGHTS / "lprnet.pth",
        "--against", out / "report.json",
    )  # fmt: skip
    table = (tmp_path / "comparison.md").read_text()
    assert "|  | other: read | other: wrong of shown | other: ECE | ours: read |" in table
    assert "| as it is | 50.0 % | 50.0 % |" in table
    assert "| smear, px | 0 | 3 |" in table
    assert table.rstrip() in result.stdout


@pytest.mark.usefixtures("undrawn")
def test_networks_without_8_bit_forms_are_reported_as_floats(grey: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    shutil.copytree(WEIGHTS, weights, ignore=shutil.ignore_patterns("*.int8.*"))
    list_sums(weights)
    arguments = (grey, "--engine", "openvino-int8", "--limit", 1, "--out", tmp_path / "run")
    ours, other = evaluate(*arguments), evaluate(*arguments, "--weights", weights)
    first_line = "in process, yolo {0}, stn openvino, lprnet {0}\n"
    assert ours.stdout.startswith(first_line.format("openvino-int8"))
    assert other.stdout.startswith(first_line.format("openvino"))


def test_an_old_report_to_compare_with_is_refused(grey: Path, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"name": "old", "reading": {"std": {}}}')
    result = evaluate(grey, "--out", tmp_path / "new", "--against", tmp_path / "old.json")
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
@pytest.mark.usefixtures("undrawn")
def test_real_scenes_are_counted_as_the_official_check_counts(photos: Path, tmp_path: Path) -> None:
    from orchestrator.imaging.decoding import read_picture
    from orchestrator.networks.export import load_networks
    from orchestrator.pipeline import recognize

    infer = load_networks()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workshop.evaluation.recognizers.load_networks", lambda *_, **__: infer)
        result = evaluate(photos / "scenes", "--out", tmp_path, "--limit", 4)
    assert result.exit_code == 0, result.output
    found_plates = read_plates = 0
    for row in rows_of(photos / "scenes" / "labels.csv")[:4]:
        x0, y0, x1, y1 = (float(row[side]) for side in ("x0", "y0", "x1", "y1"))
        plates = recognize(read_picture(photos / "scenes" / "images" / row["image"]), infer)
        texts = [
            plate.text
            for plate in plates
            if x0 <= (plate.xyxy[0] + plate.xyxy[2]) / 2 <= x1
            and y0 <= (plate.xyxy[1] + plate.xyxy[3]) / 2 <= y1
        ]
        found_plates += bool(texts)
        read_plates += row["text"] in texts
    reading = read_report(Report, tmp_path / "report.json").reading
    assert reading is not None
    assert reading.std.plates == 4
    assert (reading.std.found, reading.std.read) == (found_plates, read_plates)
