"""A diagnosis as text and JSON."""

import json
from dataclasses import replace

import pytest

from orchestrator.cli.doctor import report
from orchestrator.cli.doctor.diagnosis import Diagnosis, ServerPlan
from orchestrator.cli.doctor.machine import Machine, Port
from orchestrator.cli.doctor.report import anonymize, to_json, to_text
from orchestrator.host.resources import MIB

MACHINE = Machine(
    system="Debian, Linux 6.1, x86_64",
    python="3.11.7",
    libpython="libpython3.11.so.1.0",
    cpu="A CPU",
    cores=2,
    all_cores=8,
    instructions=("AVX2", "VNNI"),
    memory_bytes=8192 * MIB,
    usable_bytes=2048 * MIB,
    shm_bytes=64 * MIB,
    free_shm_bytes=63 * MIB,
    ports=(Port(8000, ""), Port(8001, "grpc_port: taken"), Port(8002, "")),
    gpus=(),
)
HEALTHY = Diagnosis(
    MACHINE,
    {"plates": "1.0.0", "torch": None},
    ServerPlan("cpu", "openvino-int8", "the CPU has avx_vnni", 10, 3, 2),
    (),
    ("the first start exports",),
)


def test_a_text_tells_each_fact_in_a_line() -> None:
    lines = [" ".join(line.split()) for line in to_text(HEALTHY).splitlines()]
    wanted = {
        "Python 3.11.7, libpython3.11.so.1.0",
        "cores 2 of 8",
        "instructions AVX2, VNNI",
        "memory 8,192 MiB, limited to 2,048 MiB",
        "/dev/shm 64 MiB, 63 MiB free",
        "ports 8000 free, 8001 not free, 8002 free",
        "GPU none found",
        "torch not installed",
        "engine openvino-int8: the CPU has avx_vnni",
        "workers 10, for 3 pictures at once",
        "threads 2 of one inference",
        "- the first start exports",
        "A server would start.",
    }
    assert wanted - {*lines} == set()


def test_json_has_the_same() -> None:
    told = json.loads(to_json(replace(HEALTHY, hindrances=("one",))))
    assert told["would_start"] is False
    assert told["hindrances"] == ["one"]
    assert told["machine"]["ports"][1] == {"number": 8001, "problem": "grpc_port: taken"}
    assert told["server"]["engine"] == "openvino-int8"
    assert told["versions"]["torch"] is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("no such file: /srv/plates/weights", "no such file: ./weights", id="checkout"),
        pytest.param("got /opt/anna/x", "got ~/x", id="home"),
        pytest.param("got /home/boris/x: gone", "got ~/x: gone", id="another-home"),
        pytest.param('"/Users/boris", "y"', '"~", "y"', id="in-json"),
        pytest.param("/tmp/anna/x", "/tmp/USER/x", id="user-in-a-path"),
        pytest.param("/mnt/gate7/x", "/mnt/HOST/x", id="host-in-a-path"),
        pytest.param("/tmp/annabel, anna", "/tmp/annabel, anna", id="other-words"),
        pytest.param("/srv/plates-2/x", "/srv/plates-2/x", id="another-folder"),
    ],
)
def test_names_are_left_out(monkeypatch, text: str, wanted: str) -> None:
    monkeypatch.setattr("platform.node", lambda: "gate7")
    monkeypatch.setattr(report, "_name_user", lambda: "anna")
    assert anonymize(text, {"/srv/plates": ".", "/opt/anna": "~"}) == wanted
