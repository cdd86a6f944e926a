"""Actions of a person on the page, and the visible result."""

import base64
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from orchestrator.imaging.files import Bgr

DONE = ".card[data-state=done]"
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True}
LAPTOP = {"viewport": {"width": 1280, "height": 900}}
HAND_OVER = """([event, name, kind, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  const file = new File([bytes], name, { type: kind });
  const data = new DataTransfer();
  data.items.add(file);
  const made = event === "paste"
    ? new ClipboardEvent(event, { clipboardData: data, bubbles: true })
    : new DragEvent(event, { dataTransfer: data, bubbles: true, cancelable: true });
  document.body.dispatchEvent(made);
}"""


def choose(page: Any, *files: Path) -> None:
    """Choose pictures and wait for their answers."""
    page.set_input_files("#pictures", [str(file) for file in files])
    wait_for(page, len(files))


def wait_for(page: Any, count: int) -> None:
    """Wait for a number of pictures with plates, or without plates."""
    page.locator(DONE).nth(count - 1).wait_for()


def hand_over(page: Any, event: str, file: Path) -> None:
    """Send the page an event `paste` or `drop` with a file."""
    content = base64.b64encode(file.read_bytes()).decode()
    page.evaluate(HAND_OVER, [event, file.name, "image/jpeg", content])


def texts(page: Any) -> list[str]:
    """Return the plates' texts that the page shows, sorted."""
    return sorted(page.locator(".plate .text").all_inner_texts())


def blank_texts(page: Any, *numbers: int) -> None:
    """Change the service's answers: the plates with these indices, from 0, have no text."""

    def answer(route: Any) -> None:
        reply = route.fetch()
        content = reply.json()
        for number in numbers:
            content["pictures"][0]["plates"][number] |= {"text": "", "format": "", "region": None}
        route.fulfill(response=reply, json=content)

    page.route("**/v1/recognize", answer)


def lower_limit(page: Any, pixels: int) -> None:
    """Set the largest picture that the page believes the service accepts."""
    page.evaluate(
        "async (pixels) => { (await import('/page/words.js')).words.limits.pixels = pixels; }",
        pixels,
    )


def keep_sent(page: Any) -> None:
    """Make the page record the files that it sends."""
    page.evaluate(
        """() => {
          const send = window.fetch;
          window.sent = [];
          window.fetch = (url, options) => {
            window.sent.push(options.body);
            return send(url, options);
          };
        }"""
    )


def sent_files(page: Any) -> list[bytes]:
    """Return the files that the page has recorded."""
    contents = page.evaluate(
        """() => Promise.all(window.sent.map((file) => new Promise((resolve) => {
          const reader = new FileReader();
          reader.onload = () => resolve(reader.result.split(",")[1]);
          reader.readAsDataURL(file);
        })))"""
    )
    return [base64.b64decode(content) for content in contents]


def see(locator: Any) -> Bgr:
    """Return the pixels of a part of the screen."""
    picture = cv2.imdecode(np.frombuffer(locator.screenshot(), np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None
    return picture


def drawn_xyxy(page: Any, width: int) -> NDArray[np.float64]:
    """Return the box round all pixels that outlines change, in pixels of the picture.

    Args:
        page: Page with one picture, which has one plate.
        width: Width of the picture, pixels.
    """
    page.evaluate("document.querySelectorAll('.label').forEach(one => one.hidden = true)")
    stage = page.locator(".stage")
    stage.scroll_into_view_if_needed()
    picture = see(stage).astype(int)
    page.evaluate("document.querySelector('.stage svg').style.display = 'none'")
    differs = np.abs(picture - see(stage)).max(axis=2) > 60
    rows, columns = np.nonzero(differs)
    edges = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
    return edges * width / picture.shape[1]


def check_by_axe(page: Any) -> None:
    """Fail if axe finds a fault, or if something is wider than the screen."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
    report = axe.Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]


def download(page: Any, button: str) -> Any:
    """Press a button, and return what the browser saves."""
    with page.expect_download() as result:
        page.get_by_role("button", name=button).click()
    return result.value
