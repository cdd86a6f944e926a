"""One real server for all modules, and a browser for each module, which closes it at its end.

Playwright keeps an event loop running in this thread, beside which other tests cannot start theirs.
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import pytest

from orchestrator.networks.weights import WEIGHTS
from orchestrator.serving.gateway.launcher import start
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits
from orchestrator.serving.supervisor.local_server import own_server
from orchestrator.serving.supervisor.options import ServerOptions
from orchestrator.serving.supervisor.ports import free_ports
from tests.http_servers import is_answered
from tests.waiting import until
from workshop.rendering.scenery import Scene, scene

LOG = logging.getLogger(__name__)
CHROMIUM = "chromium"
DISABLED = (
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,"  # pages for an address bar that nobody sees
    # Those of Playwright: Chromium takes the last list alone.
    "AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,"
    "HttpsFirstBalancedModeAutoEnable,LensOverlay,MediaRouter,PaintHolding,"
    "ThirdPartyStoragePartitioning,AvoidCorsURLLoaderRestartOnRedirect,OptimizationHints,"
    "NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch"
)
FLAGS = [
    f"--disable-features={DISABLED}",
    "--no-sandbox",  # root has none, and the pages are ours
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, with a camera that shows a test picture."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = shutil.which(CHROMIUM)
    if program is None:
        pytest.skip(f"no {CHROMIUM} on the PATH: apt-get install chromium")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def real_server() -> Iterator[ServerOptions]:
    """The options of the real server to which all gateways forward."""
    with own_server(ServerOptions(pictures=1)) as server:
        yield server


@pytest.fixture(scope="module")
def options(
    browser: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> GatewayOptions:
    """The gateways' options. The real server starts only if there is a browser."""
    http, metrics = (Address("127.0.0.1", port) for port in free_ports(2))
    real_server: ServerOptions = request.getfixturevalue("real_server")
    return GatewayOptions(
        triton_http=real_server.http_url,
        triton_grpc=real_server.grpc_url,
        triton_metrics=real_server.metrics_url,
        http=http,
        grpc=None,
        metrics=metrics,
        audit=tmp_path_factory.mktemp("gateway") / "audit.jsonl",
        canary=WEIGHTS,
        limits=Limits(calls=6),
    )


@contextmanager
def running(options: GatewayOptions) -> Iterator[str]:
    """Run a gateway until the end of the block; yield its URL."""
    gateway = start(options)
    try:
        until(lambda: is_answered(f"http://{options.http}/readyz"), "a ready gateway")
        yield f"http://{options.http}/"
    finally:
        gateway.stop()


@pytest.fixture(scope="module")
def url(options: GatewayOptions) -> Iterator[str]:
    """URL of a gateway."""
    with running(options) as gateway_url:
        yield gateway_url


@pytest.fixture
def open_page(browser: Any, url: str) -> Iterator[Open]:
    """Opens each page in a fresh browser profile, and fails on errors in its console."""
    contexts: list[Any] = []
    messages: list[str] = []

    def note(message: Any) -> None:
        is_refusal = message.text.startswith("Failed to load resource: the server responded")
        if message.type in ("error", "warning") and not is_refusal:
            messages.append(message.text)

    def tell_refusal(response: Any) -> None:
        if response.status >= 400:
            LOG.warning("%s %s %s", response.status, response.request.method, response.url)

    def open_tab(query: str = "", **options: Any) -> Any:
        contexts.append(browser.new_context(**{"locale": "en-GB", **options}))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("console", note)
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("response", tell_refusal)
        page.goto(url + query)
        return page

    yield open_tab
    for context in contexts:
        context.close()
    assert messages == []


@pytest.fixture
def page(open_page: Open) -> Any:
    return open_page()


@pytest.fixture(scope="module")
def one_car(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scene, Path]:
    """A street with one car, and its file."""
    street, file = scene(["A123BC77"], (960, 720), seed=4), tmp_path_factory.mktemp("car")
    cv2.imwrite(str(file / "car.png"), street.picture)
    return street, file / "car.png"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file with the name of a picture, and other content."""
    file = tmp_path / "<b>broken.jpg"
    file.write_bytes(b"no picture")
    return file
