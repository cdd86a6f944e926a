"""Gateway options on the command line, valid and invalid."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.gateway_flags import GatewayFlags
from orchestrator.errors import PlateError, ServerError, SettingsError
from orchestrator.host.resources import budget
from orchestrator.serving.gateway.options import MIB, Address, GatewayOptions, Limits
from orchestrator.serving.supervisor.options import ServerOptions

TRITON = ServerOptions(device="cpu", pictures=3)


@pytest.fixture(autouse=True)
def much_memory(monkeypatch) -> None:
    monkeypatch.setattr("orchestrator.cli.gateway_flags.usable_memory", lambda: 64 * 1024**3)


def test_without_flags_the_gateway_is_for_this_machine() -> None:
    options = GatewayFlags(limits=("picture_mb=500",)).to_options(TRITON)
    assert options == replace(
        GatewayOptions(limits=Limits(calls=12, picture_mb=500)),
        triton_http="127.0.0.1:8000",
        triton_grpc="127.0.0.1:8001",
        triton_metrics="http://127.0.0.1:8002/metrics",
    )


def test_the_memory_of_pictures_in_work_is_worked_out() -> None:
    workers = 10  # three of ours, two of each of three networks, and the ensemble's
    limits = GatewayFlags().to_options(TRITON).limits
    assert limits.picture_mb == budget(64 * 1024**3, workers) // MIB


def test_hosts_become_addresses() -> None:
    options = GatewayFlags(host="localhost", metrics_host="::1").to_options(TRITON)
    assert (options.http, options.grpc) == (Address("127.0.0.1", 8000), Address("127.0.0.1", 8001))
    assert options.metrics == Address("::1", 8002)


@pytest.mark.parametrize("option", ["host", "metrics_host"])
def test_a_host_that_nobody_knows_is_told_with_its_option(option: str) -> None:
    with pytest.raises(ServerError, match=f"^{option}: wanted an IP address of this machine"):
        GatewayFlags(**{option: "no-such-host.invalid"}).to_options(TRITON)


def test_a_port_of_0_is_any_free_one() -> None:
    options = GatewayFlags(http_port=0, grpc_port=0, metrics_port=0).to_options(TRITON)
    ports = {options.http.port, options.grpc.port, options.metrics.port}
    assert len(ports - {0, *(address.port for address in TRITON.listening)}) == 3


def test_the_gateway_finds_triton_where_it_listens() -> None:
    triton = replace(TRITON, host="::", http_port=1, grpc_port=2, metrics_port=3)
    options = GatewayFlags().to_options(triton)
    assert (options.triton_http, options.triton_grpc) == ("[::1]:1", "[::1]:2")
    assert options.triton_metrics == "http://[::1]:3/metrics"


@pytest.mark.parametrize(("host", "address"), [("0.0.0.0", "0.0.0.0:8000"), ("::", "[::]:8000")])
def test_a_gateway_that_others_can_reach_wants_keys_or_no_keys(
    host: str, address: str, tmp_path: Path
) -> None:
    (tmp_path / "keys.toml").touch()
    with pytest.raises(SettingsError) as failure:
        GatewayFlags(host=host).to_options(TRITON)
    assert str(failure.value).startswith(f"keys: others can reach {address}; make API keys")
    assert not GatewayFlags(host=host, no_keys=True).to_options(TRITON).wants_keys
    assert GatewayFlags(host=host, keys=tmp_path / "keys.toml").to_options(TRITON).wants_keys


def test_keys_that_are_named_are_wanted_from_this_machine_too(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "keys.toml").touch()
    monkeypatch.chdir(tmp_path)
    options = GatewayFlags(keys=Path("keys.toml")).to_options(TRITON)
    assert (options.wants_keys, options.keys) == (True, tmp_path / "keys.toml")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param({"keys": "k", "no_keys": True}, "--no-keys, got both", id="keys-and-none"),
        pytest.param({"keys": "nope"}, "^nope: wanted a file of keys, got No such", id="no-keys"),
        pytest.param({"audit": "/proc/a"}, "^audit: /proc/a cannot be written", id="audit"),
        pytest.param({"certificate": "k"}, "^TLS: wanted .* got one of them$", id="no-key"),
        pytest.param({"private_key": "k"}, "^TLS: wanted .* got one of them$", id="no-certificate"),
        pytest.param({"certificate": "k", "private_key": "k"}, "^TLS: wanted a", id="k"),
        pytest.param({"certificate": "no", "private_key": "k"}, "got no and k", id="no-file"),
        pytest.param({"limits": ("bodies=1",)}, "^limit: wanted some of body_mb", id="limit"),
    ],
)
def test_flags_that_contradict_or_name_no_file_are_refused(
    flags: dict[str, object], message: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k").touch()
    files = {name: Path(value) for name, value in flags.items() if isinstance(value, str)}
    with pytest.raises(PlateError, match=message):
        GatewayFlags(**{**flags, **files}).to_options(TRITON)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param({"allowed_hosts": ("",)}, "^allowed_host: .* got ''$", id="no-name"),
        pytest.param({"allowed_hosts": ("a.example:80",)}, "^allowed_host: ", id="port"),
        pytest.param({"allowed_hosts": ("https://a.example",)}, "^allowed_host: ", id="scheme"),
        pytest.param({"allowed_hosts": ("::1",)}, "^allowed_host: ", id="no-brackets"),
        pytest.param({"source_url": "javascript:alert(1)"}, "^source_url: ", id="source"),
    ],
)
def test_names_that_no_browser_sends_are_refused(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        GatewayFlags(**flags).to_options(TRITON)


def test_names_that_browsers_send_pass() -> None:
    names = ("Shop.example", "10.0.0.5", "[fd00::1]")
    options = GatewayFlags(allowed_hosts=names, source_url="https://a.example/b").to_options(TRITON)
    assert options.allowed_hosts == names


def test_a_certificate_and_its_key_pass(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
         "-keyout", key, "-out", certificate],
        capture_output=True, check=True,
    )  # fmt: skip
    options = GatewayFlags(certificate=certificate, private_key=key).to_options(TRITON)
    assert (options.certificate, options.private_key) == (certificate, key)


def test_a_gpu_whose_capacity_is_not_known_gets_a_few_calls_and_grpc_may_be_left_out() -> None:
    options = GatewayFlags(no_grpc=True).to_options(ServerOptions(device="gpu"))
    assert (options.limits.calls, options.grpc) == (16, None)
