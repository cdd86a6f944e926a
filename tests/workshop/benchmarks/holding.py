"""A process that holds as much memory, and as many open files, as a test asks for."""

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
