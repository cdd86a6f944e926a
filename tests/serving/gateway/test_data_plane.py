"""Callers that the data plane admits, requests that it checks, and figures that it records."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orchestrator.errors import ParameterError, PlateError
from orchestrator.serving.gateway.call import count_plates
from orchestrator.serving.gateway.certificates import Certificate
from orchestrator.serving.gateway.data_plane import DataPlane
from orchestrator.serving.gateway.errors import KeysUnavailable
from orchestrator.serving.gateway.options import GatewayOptions, Limits
from orchestrator.serving.gateway.policy import api_keys
from orchestrator.serving.protocol.inference import InferenceRequest, InferenceResponse, Tensor
from tests.client.certificates import make_certificate
from tests.serving.gateway.key_files import write_expiring_key, write_keys
from tests.serving.gateway.loops import run

STAGES = Tensor("stage_seconds", "FP32", (7,), bytes(28))
TEXTS = Tensor("texts", "BYTES", (2, 1), b"")


@pytest.mark.parametrize(
    ("model", "outputs", "count"),
    [
        ("plate_recognition", (TEXTS,), 2),
        ("plate_recognition", (STAGES, TEXTS), 2),
        ("plate_recognition", (STAGES,), 0),
        ("plate_reader", (TEXTS,), 2),
        ("digits", (TEXTS,), 0),
        ("plate_recognition", (), 0),
    ],
)
def test_plates_are_counted_by_their_rows(
    model: str, outputs: tuple[Tensor, ...], count: int
) -> None:
    assert count_plates(InferenceResponse(model, "1", "7", outputs)) == count


@pytest.fixture(autouse=True)
def run_coroutine() -> Callable:
    return run


@asynccontextmanager
async def serving(
    folder: Path, certificate: Certificate | None = None, **options: object
) -> AsyncIterator[DataPlane]:
    gateway_options = GatewayOptions(audit=folder / "audit", limits=Limits(calls=1), **options)
    service = DataPlane(gateway_options, certificate)
    try:
        yield service
    finally:
        await service.close()


async def admit(service: DataPlane, *headers: tuple[str, str]) -> str:
    """Return how a call with these headers ends before its body."""
    try:
        async with service.admit("rest", "recognize", "127.0.0.1", headers):
            return "admitted"
    except PlateError as error:
        return error.reason


async def has_broken_keys(service: DataPlane) -> bool:
    """Let the service check its files once; tell whether it reports broken keys."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(service.watch(), 0.01)
    return b"plates_gateway_keys_broken 1.0" in service.metrics.render()


async def test_no_key_is_accepted_while_the_file_of_keys_is_broken(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(api_keys, "LOOK_AGAIN_S", 0.0)
    file, header = write_keys(tmp_path, gate="plates_a-key"), ("x-api-key", "plates_a-key")
    table = file.read_text()
    async with serving(tmp_path, keys=file, wants_keys=True) as service:
        assert await admit(service) == "key"
        assert await admit(service, header) == "admitted"
        file.unlink()
        assert await has_broken_keys(service)
        assert await admit(service, header) == KeysUnavailable.reason
        file.write_text(table)
        assert not await has_broken_keys(service)
        assert await admit(service, header) == "admitted"


async def test_the_metrics_tell_when_keys_and_certificate_expire(tmp_path: Path) -> None:
    files = make_certificate(tmp_path, "DNS:localhost")
    certificate = Certificate(files.chain, files.private_key)
    async with serving(tmp_path, certificate, keys=write_expiring_key(tmp_path)) as service:
        assert not await has_broken_keys(service)
        page = service.metrics.render().decode()
    ends = re.findall(r"^plates_gateway_(\w+_expires_in_seconds\{.+\}) (.+)$", page, re.MULTILINE)
    (_, certificate_s), (_, key_s) = sorted(ends)
    assert [name for name, _ in sorted(ends)] == [
        'certificate_expires_in_seconds{file="chain.pem"}', 'key_expires_in_seconds{key="guest"}'
    ]  # fmt: skip
    assert 2 * 86400 - 600 < float(certificate_s) <= 2 * 86400
    assert float(key_s) > 365 * 86400


async def test_the_timeout_of_a_request_to_an_operators_model_is_checked(tmp_path: Path) -> None:
    request = InferenceRequest("digits", (TEXTS,), parameters={"timeout": "soon"})
    async with serving(tmp_path, models=("digits",)) as service:
        with pytest.raises(ParameterError, match="timeout: wanted a whole number of microseconds"):
            async with service.admit("kserve-http", "infer", "127.0.0.1", ()) as call:
                await service.infer(call, request)
