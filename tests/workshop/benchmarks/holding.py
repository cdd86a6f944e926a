"""Processes of tests: one that holds memory and open files, and a parent with its child."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

HOLDS = """
import sys
held = None
for line in sys.stdin:
    size, files = map(int, line.split())
    held = None
    held = b"1" * size, [open(sys.executable) for _ in range(files)]
    print(flush=True)
"""


@dataclass(frozen=True)
class Holder:
    """The process. The tests' own process would not do: it has the memory of all tests before."""

    process: "subprocess.Popen[str]"

    @property
    def pid(self) -> int:
        return self.process.pid

    def hold(self, size: int, files: int = 0) -> None:
        """Let the process hold bytes and files, in place of those before."""
        self.process.stdin.write(f"{size} {files}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()


@contextmanager
def holder() -> Iterator[Holder]:
    """Start the process, which holds nothing yet."""
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process_holder = Holder(process)
        process_holder.hold(0)
        yield process_holder
        process.stdin.close()


PARENT = """
import subprocess, sys, time
word = sys.argv[2].replace("|", "/")  # which the line of the parent must not have
child = subprocess.Popen([sys.executable, "-c", "input()", word], stdin=subprocess.PIPE)
while time.process_time() < float(sys.argv[3]):
    pass
print(child.pid, flush=True); input(); child.kill(); child.wait()
"""


@contextmanager
def parent_and_child(
    of_parent: str, of_child: str = "", cpu_s: float = 0.0
) -> Iterator[tuple[int, int]]:
    """Run two processes, each with a word on its command line; yield their ids.

    The parent has spent some CPU time. In the word of its child, `|` stands for `/`.
    """
    command = [sys.executable, "-c", PARENT, of_parent, of_child, str(cpu_s)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process.pid, int(process.stdout.readline())
        process.communicate("\n")
