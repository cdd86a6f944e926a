"""The start of child processes, and the secrets that they do not get."""

import subprocess
import sys

from orchestrator.host.subprocesses import prepare_child, reap_group, without_secrets
from tests.child_python import run_python

LIMITS = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"


def test_no_child_dumps_its_memory() -> None:
    process = subprocess.run(
        [sys.executable, "-c", f"import subprocess, sys; {LIMITS}; "
         f"subprocess.run([sys.executable, '-c', {LIMITS!r}])"],
        preexec_fn=prepare_child, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout.splitlines() == ["(1, 1)"] * 2


def test_a_limit_of_nothing_stays() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        f"from orchestrator.host.subprocesses import prepare_child; prepare_child(); {LIMITS}"
    )
    process = run_python(code)
    assert process.stdout == "(0, 0)\n"


def test_a_child_ends_with_its_parent() -> None:
    code = (
        "import os, signal, subprocess, sys\n"
        "from orchestrator.host.subprocesses import prepare_child\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
        "stdin=subprocess.PIPE, preexec_fn=prepare_child)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout.read() == b""  # which ends when the last who holds it has
    assert parent.returncode == -9


LEFT = """
import ctypes, os, signal, subprocess, sys
from orchestrator.host.subprocesses import read_stat, reap_group
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: as process 1 of a container is
code = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    "print(child.pid, flush=True); time.sleep(600)"
)
parent = subprocess.Popen(
    [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True, text=True
)
child_pid = int(parent.stdout.readline())
os.killpg(parent.pid, signal.SIGKILL)
parent.wait()
reap_group(parent.pid)
print(os.path.exists(f"/proc/{child_pid}"))
"""


def test_what_a_dead_child_left_is_reaped() -> None:
    process = run_python(LEFT)
    assert process.stdout == "False\n"


def test_reaping_leaves_the_children_of_others_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ours:
        reap_group(2**22 - 1)  # nobody's
        assert ours.wait() == 0


def test_a_child_gets_no_secrets() -> None:
    assert without_secrets({"PLATES_ADMIN_KEY": "gate", "HOME": "/"}) == {"HOME": "/"}
    assert without_secrets({"PLATES_KEYS": "keys.toml"}) == {"PLATES_KEYS": "keys.toml"}
