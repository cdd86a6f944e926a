"""Which process does what, by its command line; and whether all are there."""

import os
import subprocess

import pytest

from workshop.benchmarks.faults.census import GATEWAY, TRITON, Census, name_role, take_census

STUB = "/tmp/plates-a/backends/python/triton_python_backend_stub"
BEFORE = Census({"yolo": frozenset({1, 2}), TRITON: frozenset({3}), GATEWAY: frozenset({4})})


@pytest.mark.parametrize(
    ("line", "role"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["/usr/bin/sleep", "9"], "", id="another"),
        pytest.param(["/opt/bin/tritonserver", "--log-info=false"], TRITON, id="triton"),
        pytest.param(["python", "-m", "orchestrator.gateway"], GATEWAY, id="gateway"),
        pytest.param([STUB, "/r/yolo/1/model.xml", "x", "yolo_0_1"], "yolo", id="network"),
        pytest.param([STUB, "/r/stn/1/model.py", "x"], "stn", id="file-alone"),
        pytest.param(
            [STUB, "/backends/openvino/model.py", "x", "plate_recognition_0_2"],
            "plate_recognition",
            id="instance",
        ),
    ],
)
def test_a_process_is_known_by_its_command_line(line: list[str], role: str) -> None:
    assert name_role(line) == role


@pytest.mark.parametrize(
    ("pids", "is_whole"),
    [
        pytest.param({1, 2}, False, id="the-victim-is-there"),
        pytest.param({2}, False, id="it-is-missing"),
        pytest.param({2, 5}, True, id="it-was-replaced"),
        pytest.param({2, 5, 6}, False, id="too-many"),
    ],
)
def test_it_is_whole_once_the_victim_was_replaced(pids: set[int], is_whole: bool) -> None:
    now = Census({**BEFORE.pids, "yolo": frozenset(pids)})
    assert now.is_whole(BEFORE, [1]) == is_whole


def test_only_models_have_workers() -> None:
    assert BEFORE.models == ("yolo",)
    assert BEFORE.all == {1, 2, 3, 4}


def test_a_process_without_a_role_is_not_counted() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert take_census(os.getpid()).all == frozenset()
        child.kill()
