"""Options that are written as text are read back unchanged."""

from pathlib import Path

import pytest

from orchestrator.errors import SettingsError
from orchestrator.serving.gateway.options import Address, GatewayOptions, Limits, from_json, to_json

EVERYTHING = GatewayOptions(
    triton_http="127.0.0.1:9000",
    triton_grpc="127.0.0.1:9001",
    triton_metrics="http://127.0.0.1:9002/metrics",
    http=Address("::", 8000),
    grpc=None,
    metrics=Address("0.0.0.0", 8002),
    keys=Path("/etc/plates/keys.toml"),
    wants_keys=True,
    certificate=Path("/etc/plates/имя.pem"),
    private_key=Path("/etc/plates/key.pem"),
    audit=Path("/var/log/plates.log"),
    processes=3,
    limits=Limits(body_mb=7, header_s=0.5, calls=6),
)


@pytest.mark.parametrize("options", [GatewayOptions(), EVERYTHING], ids=["defaults", "everything"])
def test_what_is_read_is_what_was_written(options: GatewayOptions) -> None:
    text = to_json(options)
    assert "\n" not in text
    assert from_json(text) == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "^gateway options: wanted JSON, got ", id="nothing"),
        pytest.param("[]", r"wanted a table, got \[\]", id="no-table"),
        pytest.param('{"port": 1}', "wanted some of models, .*, got port", id="unknown"),
        pytest.param('{"processes": "2"}', "processes: wanted a whole number", id="type"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        from_json(text)
