"""Headers that describe a body before it is read."""

import pytest

from orchestrator.serving.gateway.errors import (
    BodyTooLarge,
    GatewayError,
    LengthRequired,
    UnsupportedMedia,
)
from orchestrator.serving.gateway.http.endpoint import announced_size


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_size_within_the_limit_is_taken(size: int) -> None:
    assert announced_size({"content-length": str(size)}, most=100) == size


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        pytest.param({}, LengthRequired, id="none"),
        pytest.param({"content-length": ""}, LengthRequired, id="empty"),
        pytest.param({"content-length": "ten"}, LengthRequired, id="a word"),
        pytest.param({"content-length": "-1"}, LengthRequired, id="negative"),
        pytest.param({"content-length": "٣"}, LengthRequired, id="another script's digit"),
        pytest.param({"content-length": "9" * 30}, LengthRequired, id="endless"),
        pytest.param({"content-length": "101"}, BodyTooLarge, id="one too many"),
        pytest.param({"content-length": "5", "transfer-encoding": "chunked"}, LengthRequired,
                     id="chunks"),
        pytest.param({"content-length": "5", "content-encoding": "gzip"}, UnsupportedMedia,
                     id="gzip"),
        pytest.param({"content-length": "5", "content-type": "image/jpeg" + ";" * 8192},
                     UnsupportedMedia, id="a long type"),
    ],
)  # fmt: skip
def test_what_is_not_announced_is_refused(
    headers: dict[str, str], kind: type[GatewayError]
) -> None:
    with pytest.raises(kind, match="wanted"):
        announced_size(headers, most=100)


def test_identity_is_no_encoding() -> None:
    assert announced_size({"content-length": "5", "content-encoding": "identity"}, most=9) == 5
