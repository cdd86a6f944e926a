"""A service's flags and what belongs to it, without starting one."""

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workshop.benchmarks.faults.host_faults import lower_limit
from workshop.benchmarks.faults.settings import OFFSET_FILE, CannotBeMadeError, clock, set_offset
from workshop.benchmarks.faults.signals import find_faults_of_end
from workshop.benchmarks.processes import end_at_once, find_marked
from workshop.benchmarks.service import Launch, Service


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path, Launch(root=tmp_path / "root", tmp=Path("/tmp/own")))


def test_leftovers_are_looked_for_where_the_service_sees_them(service: Service) -> None:
    for path in ("dev/shm/plates_1_2_region", "dev/shm/other", "tmp/own/plates-models-x/sub"):
        (service.launch.root / path).mkdir(parents=True)
    assert service.leftovers() == {"plates_1_2_region", "plates-models-x"}


def test_a_service_that_was_never_started_is_down(service: Service) -> None:
    assert service.pid == 0
    assert service.processes().all == frozenset()
    assert not service.is_whole()


@pytest.mark.parametrize(
    ("status", "took_s", "output", "faults"),
    [
        pytest.param(0, 2.0, "stopped\n", [], id="as-promised"),
        pytest.param(1, 2.0, "", ["exit status 1"], id="status"),
        pytest.param(None, 2.0, "", ["it did not end"], id="no-end"),
        pytest.param(0, 13.0, "", ["ended after 13.0 s"], id="late"),
        pytest.param(0, 2.0, "ERROR: a\nerror: b\n", ["said: ERROR: a"], id="complaint"),
    ],
)
def test_an_end_is_judged(
    service: Service, status: int | None, took_s: float, output: str, faults: list[str]
) -> None:
    service.log.write_text(f"error before\n{output}")
    assert find_faults_of_end(service, status, took_s, len("error before\n")) == faults


def test_all_processes_of_a_service_are_found_by_their_mark() -> None:
    with subprocess.Popen(["sleep", "60"], env={"MARKED": "by a test"}) as child:
        assert find_marked("MARKED", "by a test") == {child.pid}
        assert find_marked("MARKED", "by another") == frozenset()
        end_at_once([child.pid])
        assert child.wait(60) == -signal.SIGKILL
        end_at_once([child.pid])  # who has ended has


def test_a_limit_is_given_back() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        before = resource.prlimit(child.pid, resource.RLIMIT_NOFILE)
        with lower_limit(child.pid, resource.RLIMIT_NOFILE, 9):
            assert resource.prlimit(child.pid, resource.RLIMIT_NOFILE) == (9, before[1])
        assert resource.prlimit(child.pid, resource.RLIMIT_NOFILE) == before
        child.kill()


def test_a_clock_that_cannot_be_made_says_why() -> None:
    with pytest.raises(CannotBeMadeError, match="no C compiler"), clock(()):
        pass


@pytest.fixture
def jumping() -> Iterator[Launch]:
    try:
        with clock() as launch:
            yield launch
    except CannotBeMadeError as error:
        pytest.skip(str(error))


CLOCKS = """
import threading, time
lock = threading.Lock()
lock.acquire()
before = time.monotonic()
time.sleep(0.001)
lock.acquire(timeout=0.001)
print(time.time(), time.monotonic(), time.monotonic() - before < 60)
"""


@pytest.mark.parametrize("ahead_s", [0, 7200, -7200])
def test_the_wall_clock_jumps_and_no_other(jumping: Launch, ahead_s: int) -> None:
    set_offset(Path(jumping.variables[OFFSET_FILE]), ahead_s)
    result = subprocess.run(
        [sys.executable, "-c", CLOCKS], env=jumping.variables, capture_output=True, check=True
    )
    wall, monotonic, is_quick = result.stdout.decode().split()
    assert float(wall) - time.time() == pytest.approx(ahead_s, abs=600)
    assert float(monotonic) == pytest.approx(time.monotonic(), abs=600)
    assert is_quick == "True"
