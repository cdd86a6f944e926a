"""Our client and a gateway with TLS that requires a key for every call."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from orchestrator.client import PlateClient
from orchestrator.errors import RequestError
from orchestrator.serving.gateway.options import GatewayOptions
from orchestrator.serving.gateway.policy.api_keys import hash_of
from orchestrator.serving.supervisor.triton_server import Server
from tests.client.certificates import PemFiles, make_certificate
from tests.integration.serving import run_gateway
from tests.samples import STREET
from tests.samples import TEXTS as BEST_FIRST

TEXTS = sorted(BEST_FIRST)
KEY = "plk_of_the_gate"
GATEWAYS = {"http": "in_clear", "grpc": "in_clear", "https": "over_tls", "grpcs": "over_tls"}
"""Names of the gateway fixtures by URL scheme."""
LARGE = np.zeros((2000, 4000, 3), np.uint8)
"""A picture whose upload is not complete when its key is rejected."""


@contextmanager
def listening(server: Server, folder: Path, options: GatewayOptions) -> Iterator[GatewayOptions]:
    """Run a gateway that requires keys in front of the server; yield its addresses."""
    keys = folder / "keys.toml"
    keys.write_text(f'[gate]\nsha256 = "{hash_of(KEY)}"\n')
    with run_gateway(
        options,
        triton_http=server.options.http_url,
        triton_grpc=server.options.grpc_url,
        triton_metrics=server.options.metrics_url,
        audit=folder / "audit.jsonl",
        keys=keys,
        wants_keys=True,
    ) as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> PemFiles:
    names = "DNS:localhost,IP:127.0.0.1"
    return make_certificate(tmp_path_factory.mktemp("certificate"), names)


@pytest.fixture(scope="module")
def in_clear(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayOptions]:
    with listening(server, tmp_path_factory.mktemp("keys"), GatewayOptions()) as options:
        yield options


@pytest.fixture(scope="module")
def over_tls(
    server: Server, certificate: PemFiles, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayOptions]:
    tls_options = GatewayOptions(certificate=certificate.chain, private_key=certificate.private_key)
    with listening(server, tmp_path_factory.mktemp("tls"), tls_options) as options:
        yield options


@pytest.fixture(params=["http", "grpc", "https", "grpcs"])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a gateway, for each protocol; its certificate is trusted."""
    scheme: str = request.param
    options: GatewayOptions = request.getfixturevalue(GATEWAYS[scheme])
    monkeypatch.setenv("SSL_CERT_FILE", str(options.certificate or ""))
    address = options.http if scheme.startswith("http") else options.grpc
    return f"{scheme}://localhost:{address.port}"


def test_a_picture_is_read(url: str) -> None:
    with PlateClient(url, key=KEY) as client:
        assert sorted(client.recognize(STREET).texts) == TEXTS
        assert client.is_ready()
        assert client.server_settings().max_plates > 0


def test_crops_are_read_by_several_threads(url: str) -> None:
    crop = np.full((24, 94, 3), 128, np.uint8)
    with PlateClient(url, key=KEY) as client:
        assert len(client.read_crops([crop] * 8)) == 8


@pytest.mark.parametrize(
    ("key", "message"),
    [
        pytest.param(None, "^this gateway wants a key: send a key as `Authorization", id="none"),
        pytest.param("plk_hush", "^the key is not known", id="unknown"),
    ],
)
@pytest.mark.parametrize("picture", [STREET, LARGE], ids=["street", "large"])
def test_a_client_without_a_key_is_told_and_does_not_try_again(
    url: str, picture: object, key: str | None, message: str
) -> None:
    with (
        PlateClient(url, key=key, retries=5) as client,
        pytest.raises(RequestError, match=message) as raised,
    ):
        client.recognize(picture)
    assert client.retried == 0
    assert "hush" not in str(raised.value)


def test_without_a_key_nothing_is_ready_or_told(url: str) -> None:
    with PlateClient(url) as client:
        assert not client.is_ready()
        with pytest.raises(RequestError, match=r"^this gateway wants a key"):
            client.server_settings()
