"""Several files at once, and files that the page must convert before it sends them."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from tests.browser.looking import choose, keep_sent, lower_limit, sent_files, wait_for
from tests.samples import STREET, TEXTS
from workshop.rendering.scenery import Scene

WANTED = {
    "form.pdf": "This is a PDF. ",
    "IMG_0001.HEIC": "This browser cannot open HEIC pictures. ",
    "notes.txt": "This file is not a picture that can be read. ",
}


@pytest.mark.parametrize("name", WANTED)
def test_a_file_that_is_no_picture_has_a_card(page: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"no picture")
    calls: list[Any] = []
    page.on("request", lambda request: calls.append(request) if "/v1/" in request.url else None)
    page.set_input_files("#pictures", [str(STREET), str(file)])
    card = page.locator(".card[data-state=failed]")
    card.wait_for()
    assert card.locator("h3").inner_text() == name
    assert card.locator(".words").inner_text().startswith(WANTED[name])
    assert not card.get_by_role("button", name="Try again").is_visible()
    assert len(calls) == 1  # the street alone


def test_each_file_has_a_card_with_its_state(page: Any, one_car: tuple[Scene, Path]) -> None:
    routes: list[Any] = []
    page.route("**/v1/recognize", lambda route: routes.append(route))
    with page.expect_request("**/v1/recognize"):
        page.set_input_files("#pictures", [str(STREET), str(one_car[1]), str(STREET)])
    assert page.locator(".state").all_inner_texts() == ["Reading", "Waiting", "Waiting"]
    assert page.locator("#progress").inner_text() == "0 of 3"
    with page.expect_request("**/v1/recognize"):
        routes[0].continue_()
    assert page.locator(".state").all_inner_texts() == ["Done", "Reading", "Waiting"]
    assert page.locator("#progress").inner_text() == "1 of 3"
    assert page.locator("progress").evaluate("(bar) => bar.value / bar.max") == pytest.approx(1 / 3)
    page.route("**/v1/recognize", lambda route: route.continue_())
    routes[1].continue_()
    wait_for(page, 3)
    assert not page.locator("#progress").is_visible()


def test_a_table_tells_the_plates_of_several_pictures(
    page: Any, one_car: tuple[Scene, Path]
) -> None:
    choose(page, STREET)
    assert not page.locator("#table").is_visible()
    choose(page, one_car[1])
    wait_for(page, 2)
    rows = page.locator("#table tbody tr")
    plates = rows.locator(".face").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert plates == [*TEXTS, "A123BC77"]
    assert rows.last.inner_text().split("\t")[-2:] == ["Moscow", "100%"]
    assert rows.locator("canvas.thumbnail").count() == 2
    rows.last.get_by_role("link", name="A123BC77").click()
    assert page.evaluate("document.activeElement.id || location.hash") in (
        "plate-2-1",
        "#plate-2-1",
    )


def test_a_large_picture_is_made_smaller(page: Any) -> None:
    lower_limit(page, 300_000)
    keep_sent(page)
    choose(page, STREET)
    (content,) = sent_files(page)
    height, width = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR).shape[:2]
    assert 0.95 * 300_000 < height * width <= 300_000
    note = page.locator(".note").inner_text()
    assert note.endswith(f"1280 × 960 pixels became {width} × {height}.")  # noqa: RUF001
    assert page.locator(".outlines").get_attribute("viewBox") == f"0 0 {width} {height}"


def test_a_picture_is_sent_as_it_is_and_another_format_as_a_jpeg(page: Any, tmp_path: Path) -> None:
    keep_sent(page)
    choose(page, STREET)
    assert sent_files(page) == [STREET.read_bytes()]
    assert not page.locator(".note").is_visible()
    file = tmp_path / "car.gif"
    Image.open(STREET).save(file)
    choose(page, file)
    wait_for(page, 2)
    assert sent_files(page)[1].startswith(b"\xff\xd8\xff")
    assert page.locator(".note:visible").inner_text() == "Turned into a JPEG before sending."
