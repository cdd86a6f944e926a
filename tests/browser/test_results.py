"""Plates on the page: how they are shown, copied and downloaded."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from orchestrator.formats.layouts import flatten, lines_of
from orchestrator.formats.plate_formats import COUNTRIES, read_formats
from tests.browser.conftest import Open
from tests.browser.looking import LAPTOP, PHONE, blank_texts, choose, download, wait_for
from tests.samples import STREET, TEXTS
from workshop.rendering.scenery import Scene

VIEWS = [
    pytest.param({**LAPTOP, "locale": "en-GB"}, id="laptop"),
    pytest.param({**PHONE, "locale": "ru-RU"}, id="Russian phone"),
]
CYRILLIC = "\u0422\u041e05577"
EXAMPLES = str.maketrans("LDR", "A17")


@pytest.fixture
def tall(one_car: tuple[Scene, Path], tmp_path: Path) -> Path:
    """A picture with twice the height of its width, and one car at its bottom."""
    street, file = one_car[0].picture, tmp_path / "tall.jpg"
    sky = np.full((2 * street.shape[1] - street.shape[0], street.shape[1], 3), 200, np.uint8)
    cv2.imwrite(str(file), np.vstack([sky, street]))
    return file


def is_covered(locator: Any) -> bool:
    """Tell whether another element covers the upper edge of this one."""
    return locator.evaluate(
        """(element) => {
          const { x, y, width } = element.getBoundingClientRect();
          return !element.contains(document.elementFromPoint(x + width / 2, y + 3));
        }"""
    )


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("shape", ["street", "tall"])
def test_plates_are_in_view_after_an_upload(
    open_page: Open, tall: Path, view: dict[str, Any], shape: str
) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    page = open_page(**view, reduced_motion="reduce")
    choose(page, {"street": STREET, "tall": tall}[shape])
    faces = page.locator(".plate .face").all()
    assert len(faces) == {"street": 3, "tall": 1}[shape]
    for face in faces:
        playwright.expect(face).to_be_in_viewport(ratio=0.99)
        assert not is_covered(face)


def test_a_field_for_a_key_covers_no_plate(open_page: Open, tall: Path) -> None:
    page = open_page(**PHONE, reduced_motion="reduce")
    page.evaluate("document.querySelector('.key').hidden = false")
    choose(page, tall, tall, tall)
    page.locator("#table .to-plate").last.click()
    assert not is_covered(page.locator(".plate .face").last)


def test_the_page_stays_where_its_reader_is(open_page: Open, tall: Path) -> None:
    page = open_page(**PHONE, reduced_motion="reduce")
    routes: list[Any] = []
    page.route("**/v1/recognize", lambda route: routes.append(route))
    with page.expect_request("**/v1/recognize"):
        page.set_input_files("#pictures", [str(tall), str(tall)])
    page.evaluate("scrollTo(0, 0); document.dispatchEvent(new Event('touchmove'))")
    with page.expect_request("**/v1/recognize"):
        routes[0].continue_()
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("view", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_form_shrinks_to_a_bar_and_letters_of_plates_are_large(
    open_page: Open, view: dict[str, Any]
) -> None:
    page = open_page(**view)
    before = page.locator(".bar").bounding_box()["height"]
    choose(page, STREET)
    after = page.locator(".bar").bounding_box()["height"]
    assert before > 200 > 72 > after
    assert page.locator("label.button").inner_text().startswith("More")
    face = page.locator(".plate .face").nth(1)
    assert 76 / 112 * face.bounding_box()["height"] >= 40
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide == view["viewport"]["width"]


def test_wide_screens_have_the_picture_beside_the_plates(open_page: Open) -> None:
    page = open_page(viewport={"width": 900, "height": 900}, reduced_motion="reduce")
    choose(page, STREET)
    stage, plate = (page.locator(name).first.bounding_box() for name in (".stage", ".plate"))
    assert stage["x"] + stage["width"] < plate["x"]
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.locator(".plate").last.scroll_into_view_if_needed()
    assert page.locator(".stage").bounding_box()["y"] > 0  # it stays


def test_a_plate_is_told_and_copied_in_both_alphabets(open_page: Open) -> None:
    page = open_page(locale="ru-RU", permissions=["clipboard-read", "clipboard-write"])
    choose(page, STREET)
    assert (
        page.locator(".summary").inner_text().startswith("3 \u043d\u043e\u043c\u0435\u0440\u0430, ")
    )
    plate = page.locator(".plate").first
    about = plate.locator(".about").inner_text()
    assert about.startswith("\u041c\u043e\u0441\u043a\u0432\u0430")  # Moscow
    assert "ru_" not in about
    copies = []
    for button in plate.locator(".copy").all():
        button.click()
        page.locator(".copy.done").first.wait_for()
        copies.append(page.evaluate("navigator.clipboard.readText()"))
    assert copies == plate.locator(".spelling b").all_inner_texts() == [CYRILLIC, "TO05577"]
    assert plate.locator(".face").get_attribute("aria-label") == CYRILLIC
    page.get_by_role("link", name="English").click()
    assert page.locator("h1").inner_text() == "Number plates in pictures"
    choose(page, STREET)
    plate = page.locator(".plate").first
    assert plate.locator(".spelling b").all_inner_texts() == ["TO05577", CYRILLIC]
    assert plate.locator(".face").get_attribute("aria-label") == "TO05577"


def test_details_are_closed_and_without_noise(page: Any) -> None:
    choose(page, STREET)
    assert not page.locator(".plate canvas").first.is_visible()
    page.get_by_text("Details").first.click()
    details = page.locator(".more").first
    assert details.locator("canvas").is_visible()
    assert "ru_taxi" in details.inner_text()
    assert details.locator(".candidates li").count() == 0  # each is under 1 %
    assert "Each character is 100% sure." in details.inner_text()
    page.locator(".plate").nth(1).hover()
    assert page.locator(".outlines polygon").evaluate_all(
        "(all) => all.map((one) => one.classList.contains('lit'))"
    ) == [False, True, False]


def test_doubts_are_told(page: Any) -> None:
    scores = [0.994, 1.0, 0.6, 1.0, 1.0, 1.0, 1.0]
    others = [{"text": TEXTS[0], "score": 0.6}, {"text": "TO85577", "score": 0.3}]
    noise = [{"text": "TO65577", "score": 0.009}]

    def answer(route: Any) -> None:
        reply = route.fetch()
        content = reply.json()
        doubtful = {"character_scores": scores, "candidates": others + noise, "text_score": 0.6}
        content["pictures"][0]["plates"][0] |= doubtful
        route.fulfill(response=reply, json=content)

    page.route("**/v1/recognize", answer)
    choose(page, STREET)
    page.get_by_text("Details").first.click()
    details = page.locator(".more").first
    assert details.locator(".characters li").all_inner_texts() == ["T 99%", "0 60%"]
    assert details.locator(".candidates li").all_inner_texts() == ["TO85577 30%"]


def test_plates_that_could_not_be_read_are_one_line_to_which_their_labels_lead(page: Any) -> None:
    blank_texts(page, 0, 2)
    choose(page, STREET)
    assert page.locator(".plate").count() == 1
    assert page.get_by_text("and 2 more that could not be read").is_visible()
    assert not page.locator(".unread-plates").is_visible()
    page.locator(".label.unread").first.click()
    assert page.locator("#plate-1-1").is_visible()
    texts = page.locator(".unread-plates li").all_inner_texts()
    assert len(texts) == 2
    assert all("Could not read this plate" in text and "pixels" in text for text in texts)
    assert page.locator(".unread-plates canvas").first.is_visible()


def test_a_picture_of_unread_plates_says_so(page: Any) -> None:
    blank_texts(page, 0, 1, 2)
    choose(page, STREET)
    assert page.locator(".nothing").inner_text().startswith("3 plates, but none could be read.")
    assert page.locator(".outlines polygon.unread").count() == 3


def test_every_format_is_cut_as_it_is_painted(page: Any) -> None:
    countries = [read_formats(file) for file in sorted(COUNTRIES.glob("*/formats.toml"))]
    plates = [
        [flatten(layout).translate(EXAMPLES).upper(), plate_format.name, lines_of(layout)]
        for country in countries
        for plate_format in country.format
        for layout in plate_format.layouts
    ]
    designs = page.evaluate(
        """async (plates) => {
          const { designOf } = await import("/page/designs.js");
          return plates.map(([text, format]) => designOf(text, format));
        }""",
        plates,
    )
    assert len(designs) == len(plates) > 30
    for (text, name, lines), design in zip(plates, designs, strict=True):
        assert "".join(design["lines"]) + design["code"] == text, name
        assert len(design["lines"]) == lines, name


def test_copies_say_what_the_server_said(open_page: Open, broken: Path, tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "grey.png"), np.full((300, 400, 3), 128, np.uint8))
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    choose(page, STREET)
    choose(page, tmp_path / "grey.png")
    wait_for(page, 2)
    page.set_input_files("#pictures", str(broken))
    page.locator(".problem:visible").wait_for()
    page.get_by_role("button", name="Copy as JSON").click()
    page.get_by_text("Copied: JSON").wait_for()
    first, _, third = json.loads(page.evaluate("navigator.clipboard.readText()"))["pictures"]
    assert [plate["text"] for plate in first["plates"]] == TEXTS
    assert third["problem"]["reason"] == "picture"
    page.get_by_role("button", name="Copy as CSV").click()
    page.get_by_text("Copied: CSV").wait_for()
    *rows, grey, wrong = csv.DictReader(
        io.StringIO(page.evaluate("navigator.clipboard.readText()"))
    )
    assert [row["text"] for row in rows] == TEXTS
    assert [float(row["x0"]) for row in rows] == [plate["xyxy"][0] for plate in first["plates"]]
    plates = first["plates"]
    assert [row["text_native"] for row in rows] == [plate["text_native"] for plate in plates]
    names = ("picture", "text", "problem", "message")
    assert [grey[name] for name in names] == ["grey.png", "", "", "No plates found"]
    cannot = "This picture cannot be used. Try another one."
    assert [wrong[name] for name in names] == [broken.name, "", "picture", cannot]


def test_without_a_clipboard_the_text_is_there_to_be_copied(page: Any) -> None:
    choose(page, STREET)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(Error('no')); }")
    page.get_by_role("button", name="Copy as CSV").click()
    area = page.get_by_label("To copy: select this text")
    area.wait_for()
    assert area.input_value().startswith("picture,text,")


def test_files_hold_what_the_server_said(page: Any, one_car: tuple[Scene, Path]) -> None:
    choose(page, STREET, one_car[1])
    csv_file, json_file = (download(page, f"Download {kind}") for kind in ("CSV", "JSON"))
    assert csv_file.suggested_filename == "plates.csv"
    text = csv_file.path().read_text(encoding="utf-8-sig")
    assert [row["text"] for row in csv.DictReader(io.StringIO(text))] == [*TEXTS, "A123BC77"]
    pictures = json.loads(json_file.path().read_bytes())["pictures"]
    assert [picture["name"] for picture in pictures] == ["street.jpg", "car.png"]
    assert [plate["text"] for plate in pictures[0]["plates"]] == TEXTS
