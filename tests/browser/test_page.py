"""The page in a real browser, in front of a real server."""

from __future__ import annotations

import csv
import io
import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from orchestrator.contract import STAGES
from orchestrator.networks.weights import WEIGHTS
from orchestrator.system.canary import PICTURE_FILE
from tests.browser.conftest import Open
from tests.browser.looking import choose, drawn_xyxy, hand_over, see, texts, wait_for
from tests.samples import STREET, TEXTS
from workshop.rendering.scenery import Scene, scene

PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "is_mobile": True}
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def one_car(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scene, Path]:
    """A street with one car, and its file."""
    drawn, file = (
        scene(["A123BC77"], (960, 720), seed=4),
        tmp_path_factory.mktemp("car") / "car.png",
    )
    cv2.imwrite(str(file), drawn.picture)
    return drawn, file


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file that only says it is a picture."""
    file = tmp_path / "<b>broken.jpg"
    file.write_bytes(b"no picture")
    return file


def answer_to(url: str, file: Path) -> dict[str, Any]:
    """Return what the API says of the one plate in a picture."""
    with urllib.request.urlopen(url + "v1/recognize", file.read_bytes()) as answer:
        (plate,) = json.loads(answer.read())["pictures"][0]["plates"]
    return plate


def test_plates_of_a_picture_are_read(page: Any) -> None:
    choose(page, STREET)
    assert texts(page) == sorted(TEXTS)
    assert page.locator("#status").inner_text().startswith("street.jpg: 3 plates: TO05577, ")


def test_what_the_server_says_of_a_plate_is_told(
    page: Any, url: str, one_car: tuple[Scene, Path]
) -> None:
    choose(page, one_car[1])
    plate = answer_to(url, one_car[1])
    told = page.locator(".plate").inner_text()
    assert "А123ВС77" in told  # noqa: RUF001  # in Cyrillic
    assert "Moscow (77)" in told
    shown = page.locator(".characters li").all_inner_texts()
    wanted = zip(plate["raw_text"], plate["character_scores"], strict=True)
    assert [one.split() for one in shown] == [
        [char, f"{round(100 * sure)}%"] for char, sure in wanted
    ]
    candidates = page.locator(".candidates b").all_inner_texts()
    assert candidates == [one["text"] for one in plate["candidates"]]


def test_the_time_of_a_picture_is_told_by_stage(page: Any, one_car: tuple[Scene, Path]) -> None:
    choose(page, one_car[1])
    page.get_by_text("Time by stage").click()
    told = page.locator(".time dt").all_inner_texts()
    assert (told[0], told[2], len(told)) == ("Unpacking the file", "Finding plates", len(STAGES))
    took = page.locator(".time dd").all_inner_texts()
    assert all(re.fullmatch(r"[\d.]+\s?ms", one) for one in took)
    assert any(float(one.split("m")[0]) > 0 for one in took)


@pytest.mark.parametrize("view", [pytest.param({}, id="desktop"), pytest.param(PHONE, id="phone")])
def test_outlines_lie_round_the_plates(
    open_page: Open, one_car: tuple[Scene, Path], view: dict[str, Any]
) -> None:
    page, (drawn, file) = open_page(**view), one_car
    choose(page, file)
    margin_px = 3 * drawn.picture.shape[1] / page.locator(".stage").bounding_box()["width"]
    found = drawn_xyxy(page, drawn.picture.shape[1])
    np.testing.assert_allclose(found, drawn.xyxy[0], atol=margin_px + 6)


def test_crops_are_straight(page: Any, url: str, one_car: tuple[Scene, Path]) -> None:
    """A crop shows what OpenCV cuts out of the picture at the corners that the server told."""
    choose(page, one_car[1])
    shown = see(page.locator(".plate canvas"))[2:-2, 2:-2]  # within the border
    high, wide = shown.shape[:2]
    target = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    source = np.array(answer_to(url, one_car[1])["corners"], np.float32)
    theta = cv2.getPerspectiveTransform(source, target)
    wanted = cv2.warpPerspective(one_car[0].picture, theta, (wide, high))
    grey = [cv2.cvtColor(one, cv2.COLOR_BGR2GRAY) for one in (shown, wanted)]
    # A pixel's shift by the browser's scaling costs little after the blur; a turn by 3 degrees 0.3.
    crops = [cv2.GaussianBlur(one, (0, 0), 1.0).ravel() for one in grey]
    assert np.corrcoef(crops)[0, 1] > 0.9


def test_several_pictures_keep_their_order(page: Any, one_car: tuple[Scene, Path]) -> None:
    choose(page, STREET, one_car[1], WEIGHTS / PICTURE_FILE)
    assert page.locator("h3").all_inner_texts() == ["street.jpg", "car.png", PICTURE_FILE]
    assert page.locator(".card").nth(1).locator(".text").all_inner_texts() == ["A123BC77"]


@pytest.mark.parametrize("event", ["paste", "drop"])
def test_pictures_are_taken_from_elsewhere(page: Any, event: str) -> None:
    hand_over(page, event, STREET)
    wait_for(page, 1)
    assert texts(page) == sorted(TEXTS)


def test_the_sample_is_read(page: Any) -> None:
    page.get_by_role("button", name="Try a sample").click()
    wait_for(page, 1)
    assert texts(page) == ["A123BC77", "E555KX50", "K207MH178"]


def test_the_camera_gives_a_picture(page: Any) -> None:
    page.get_by_role("button", name="Use the camera").click()
    page.get_by_role("button", name="Take a picture").click()
    wait_for(page, 1)
    assert "answered in" in page.locator(".summary").inner_text()  # the timer in it may be read
    page.get_by_role("button", name="Turn the camera off").click()
    assert page.evaluate("document.getElementById('video').srcObject") is None


def test_an_error_is_told_in_both_s_words(page: Any, broken: Path) -> None:
    page.set_input_files("#pictures", str(broken))
    told = page.locator(".problem:visible")
    told.wait_for()
    assert told.locator(".words").inner_text() == "This picture cannot be used. Try another one."
    assert "encoded_image: wanted" in told.locator(".detail").inner_text()
    assert page.locator("h3").inner_text() == broken.name  # as text
    assert told.get_by_role("link").get_attribute("href") == "docs#problem-picture"


def test_a_key_goes_with_the_call_alone(page: Any, url: str) -> None:
    page.evaluate("document.querySelector('.key').hidden = false")
    page.fill("#key", "no-such-key")
    page.set_input_files("#pictures", str(STREET))
    page.locator(".problem:visible").wait_for()
    assert "the key is not known" in page.locator(".detail").inner_text()
    page.fill("#key", "")
    page.get_by_role("button", name="Try again").click()
    wait_for(page, 1)
    assert page.url == url
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_what_can_be_no_key_is_not_sent(page: Any) -> None:
    page.evaluate("document.querySelector('.key').hidden = false")
    page.fill("#key", "\u043a\u043b\u044e\u0447")
    page.set_input_files("#pictures", str(STREET))
    page.locator(".problem:visible").wait_for()
    assert page.locator(".words").inner_text().startswith("The service wants a valid API key.")


@pytest.mark.parametrize("status", [200, 502])
def test_an_answer_of_somebody_else_is_told(page: Any, status: int) -> None:
    page.route("**/v1/recognize", lambda route: route.fulfill(status=status, body="<h1>proxy</h1>"))
    page.set_input_files("#pictures", [str(STREET), str(STREET)])
    page.locator(".problem:visible").nth(1).wait_for()
    assert f"(HTTP status {status})" in page.locator(".words").first.inner_text()


def test_copies_say_what_the_server_said(open_page: Open, broken: Path) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    choose(page, STREET)
    page.set_input_files("#pictures", str(broken))
    page.locator(".problem:visible").wait_for()
    page.get_by_role("button", name="Copy as JSON").click()
    page.get_by_text("Copied: JSON").wait_for()
    first, second = json.loads(page.evaluate("navigator.clipboard.readText()"))["pictures"]
    assert [plate["text"] for plate in first["plates"]] == TEXTS
    assert second["problem"]["reason"] == "picture"
    page.get_by_role("button", name="Copy as CSV").click()
    page.get_by_text("Copied: CSV").wait_for()
    rows = [*csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()")))]
    assert [row["text"] for row in rows] == [*TEXTS, ""]
    assert [float(row["x0"]) for row in rows[:3]] == [plate["xyxy"][0] for plate in first["plates"]]
    assert (rows[3]["picture"], rows[3]["problem"]) == (broken.name, "picture")


def test_without_a_clipboard_the_text_is_there_to_be_copied(page: Any) -> None:
    choose(page, STREET)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(Error('no')); }")
    page.get_by_role("button", name="Copy as CSV").click()
    area = page.get_by_label("To copy: select this text")
    area.wait_for()
    assert area.input_value().startswith("picture,text,")


def test_clearing_leaves_nothing(page: Any) -> None:
    choose(page, STREET)
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".card").count() == 0
    assert not page.locator("#results").is_visible()


def test_a_keyboard_is_enough(page: Any) -> None:
    seen = []
    for _ in range(5):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.href"))
    assert seen[2:] == ["pictures", "sample", "camera"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    wait_for(page, 1)
    page.locator(".stage .label").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "plate-1-1"
    assert page.evaluate("document.activeElement.className") == "plate"


def test_a_phone_needs_no_scrolling_to_the_side(open_page: Open) -> None:
    page = open_page(**PHONE)
    choose(page, STREET)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("language", ["en-GB", "ru-RU"])
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing(open_page: Open, broken: Path, language: str, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
    page = open_page(locale=language, color_scheme=theme)
    page.evaluate("document.querySelector('.key').hidden = false")
    choose(page, STREET)
    page.set_input_files("#pictures", str(broken))
    page.locator(".problem:visible").wait_for()
    results = axe.Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_a_reader_of_russian_is_told_in_russian(open_page: Open) -> None:
    page = open_page(locale="ru-RU")
    choose(page, STREET)
    assert page.locator(".summary").inner_text().startswith("3 номера, ответ за")
    page.get_by_role("link", name="English").click()
    assert page.locator("h1").inner_text() == "Number plates in pictures"


def test_without_a_script_the_form_is_answered(open_page: Open) -> None:
    page = open_page(java_script_enabled=False)
    page.set_input_files("#pictures", str(STREET))
    page.get_by_role("button", name="Find plates").click()
    page.wait_for_url("**/v1/recognize")
    (answer,) = json.loads(page.locator("pre").inner_text())["pictures"]
    assert [plate["text"] for plate in answer["plates"]] == TEXTS
