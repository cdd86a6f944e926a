"""The page in a real browser, in front of a real server."""

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from orchestrator.contract import STAGES
from orchestrator.host.canary import PICTURE_FILE
from orchestrator.networks.weights import WEIGHTS
from tests.browser.conftest import Open
from tests.browser.looking import (
    PHONE,
    blank_texts,
    check_by_axe,
    choose,
    drawn_xyxy,
    hand_over,
    see,
    texts,
    wait_for,
)
from tests.samples import STREET, TEXTS
from workshop.rendering.scenery import Scene


def answer_to(url: str, file: Path) -> dict[str, Any]:
    """Return the API's answer for the only plate of a picture."""
    with urllib.request.urlopen(url + "v1/recognize", file.read_bytes()) as answer:
        (plate,) = json.loads(answer.read())["pictures"][0]["plates"]
    return plate


def test_plates_of_a_picture_are_read_and_clearing_leaves_nothing(page: Any) -> None:
    choose(page, STREET)
    assert texts(page) == sorted(TEXTS)
    assert page.locator("#status").inner_text().startswith("street.jpg: 3 plates: TO05577, ")
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".card").count() == 0
    assert not page.locator("#results").is_visible()
    assert page.locator("#samples").is_visible()


def test_the_time_of_a_picture_is_told_by_stage(page: Any, one_car: tuple[Scene, Path]) -> None:
    choose(page, one_car[1])
    page.get_by_text("Time by stage").click()
    stages = page.locator(".time dt").all_inner_texts()
    assert (stages[0], stages[2]) == ("Unpacking the file", "Finding plates")
    assert len(stages) == len(STAGES)
    times = page.locator(".time dd").all_inner_texts()
    assert all(re.fullmatch(r"[\d.]+\s?ms", text) for text in times)
    assert any(float(text.split("m")[0]) > 0 for text in times)


@pytest.mark.parametrize("view", [{}, PHONE], ids=["desktop", "phone"])
def test_outlines_lie_round_the_plates(
    open_page: Open, one_car: tuple[Scene, Path], view: dict[str, Any]
) -> None:
    page, (car_scene, file) = open_page(**view), one_car
    choose(page, file)
    margin_px = 3 * car_scene.picture.shape[1] / page.locator(".stage").bounding_box()["width"]
    xyxy = drawn_xyxy(page, car_scene.picture.shape[1])
    np.testing.assert_allclose(xyxy, car_scene.xyxy[0], atol=margin_px + 6)


def test_crops_are_straight(page: Any, url: str, one_car: tuple[Scene, Path]) -> None:
    """A crop equals OpenCV's cut of the picture at the corners in the server's answer."""
    choose(page, one_car[1])
    page.get_by_text("Details").click()
    crop = see(page.locator(".plate canvas"))[2:-2, 2:-2]  # within the border
    high, wide = crop.shape[:2]
    target = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
    source = np.array(answer_to(url, one_car[1])["corners"], np.float32)
    theta = cv2.getPerspectiveTransform(source, target)
    reference = cv2.warpPerspective(one_car[0].picture, theta, (wide, high))
    grey = [cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY) for picture in (crop, reference)]
    # A pixel's shift by the browser's scaling costs little after the blur; a turn by 3 degrees 0.3.
    crops = [cv2.GaussianBlur(picture, (0, 0), 1.0).ravel() for picture in grey]
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


@pytest.mark.parametrize(
    ("name", "sample_texts"),
    [
        ("sample-street.jpg", ["A123BC77", "E555KX50", "K207MH178"]),
        ("sample-kinds.jpg", ["EK34577", "M482OT750", "T305YA161"]),
        ("sample-car.jpg", ["P604AY02"]),
    ],
)
def test_samples_are_read(page: Any, name: str, sample_texts: list[str]) -> None:
    page.locator(f".sample[data-file='page/{name}']").click()
    wait_for(page, 1)
    assert texts(page) == sample_texts


def test_the_camera_gives_a_picture(page: Any) -> None:
    page.get_by_role("button", name="Use the camera").click()
    page.get_by_role("button", name="Take a picture").click()
    wait_for(page, 1)
    assert page.locator("h3").inner_text() == "camera picture"
    page.get_by_role("button", name="Turn the camera off").click()
    assert page.evaluate("document.getElementById('video').srcObject") is None


def test_an_error_is_told_in_both_s_words(page: Any, broken: Path) -> None:
    page.set_input_files("#pictures", str(broken))
    problem = page.locator(".problem:visible")
    problem.wait_for()
    assert problem.locator(".words").inner_text() == "This picture cannot be used. Try another one."
    assert "encoded_image: wanted" in problem.locator(".detail").inner_text()
    assert page.locator("h3").inner_text() == broken.name  # as text
    assert problem.get_by_role("link").get_attribute("href") == "docs#problem-picture"


def test_a_key_goes_with_the_call_alone_and_what_can_be_none_is_not_sent(
    page: Any, url: str
) -> None:
    page.evaluate("document.querySelector('.key').hidden = false")
    problem = page.locator(".problem:visible")
    page.fill("#key", "\u043a\u043b\u044e\u0447")
    page.set_input_files("#pictures", str(STREET))
    problem.get_by_text("The service wants a valid API key.").wait_for()
    page.fill("#key", "no-such-key")
    page.get_by_role("button", name="Try again").click()
    problem.get_by_text("the key is not known").wait_for()
    page.fill("#key", "")
    page.get_by_role("button", name="Try again").click()
    wait_for(page, 1)
    assert page.url == url
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0


@pytest.mark.parametrize("status", [200, 502])
def test_an_answer_of_somebody_else_is_told(page: Any, status: int) -> None:
    page.route("**/v1/recognize", lambda route: route.fulfill(status=status, body="<h1>proxy</h1>"))
    page.set_input_files("#pictures", [str(STREET), str(STREET)])
    page.locator(".problem:visible").nth(1).wait_for()
    assert f"(HTTP status {status})" in page.locator(".words").first.inner_text()


def test_a_keyboard_is_enough(page: Any) -> None:
    names = []
    for _ in range(5):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert names[2:] == ["pictures", "camera", "sample"]
    page.keyboard.press("Enter")
    wait_for(page, 1)
    page.locator(".stage .label").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "plate-1-1"
    assert page.evaluate("document.activeElement.className") == "plate"


@pytest.mark.parametrize(("language", "theme"), [("en-GB", "light"), ("ru-RU", "dark")])
def test_axe_finds_nothing(open_page: Open, broken: Path, language: str, theme: str) -> None:
    page = open_page(locale=language, color_scheme=theme, reduced_motion="reduce")
    page.evaluate("document.querySelector('.key').hidden = false")
    check_by_axe(page)
    blank_texts(page, 1)
    choose(page, STREET)
    page.unroute_all()
    page.set_input_files("#pictures", str(broken))
    page.locator(".problem:visible").wait_for()
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    check_by_axe(page)


def test_without_a_script_the_form_is_answered(open_page: Open) -> None:
    page = open_page(java_script_enabled=False)
    page.set_input_files("#pictures", str(STREET))
    page.get_by_role("button", name="Find plates").click()
    page.wait_for_url("**/v1/recognize")
    (answer,) = json.loads(page.locator("pre").inner_text())["pictures"]
    assert [plate["text"] for plate in answer["plates"]] == TEXTS
