"""A PostgreSQL server of one's own, in a temporary folder, on a Unix socket and perhaps on TCP.

It runs the programs of Debian's package `postgresql`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
MISSING = "needs PostgreSQL's server: apt-get install postgresql"
SETTINGS = ("listen_addresses=", "max_connections=30")
MAX_START_S = 60.0


def find_programs() -> Path | None:
    """Return the folder of initdb and postgres, the newest version's."""
    on_path = shutil.which("initdb")
    folders = [*FOLDERS, *([Path(on_path).parent] if on_path else [])]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@dataclass
class PostgresqlServer:
    """A server that is started, killed and started again.

    Attributes:
        port: Number of its socket. It listens there on loopback, too, if `settings` say so.
        environ: Environment variables of the server; None for those of this process.
    """

    programs: Path
    settings: Sequence[str] = SETTINGS
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp")))
    port: int = 5432
    environ: Mapping[str, str] | None = None
    _server: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process of which all others of the server are children."""
        assert self._server
        return self._server.pid

    def create(self) -> None:
        """Make the files of a new server."""
        if self._user:
            shutil.chown(self.folder, self._user)
        command = ("-D", "cluster", "-A", "trust", "-U", "plates", "-E", "UTF8", "-N")
        subprocess.run(
            [str(self.programs / "initdb"), *command, "--locale=C.UTF-8"],
            check=True,
            capture_output=True,
            cwd=self.folder,
            user=self._user,
        )

    def start(self) -> None:
        """Start the server, and wait until it accepts connections.

        Raises:
            TimeoutError: It does not.
        """
        deadline = time.monotonic() + MAX_START_S
        while not self._is_running():
            if time.monotonic() > deadline:
                raise TimeoutError("wanted PostgreSQL to accept connections")
            time.sleep(0.01)

    def kill(self) -> None:
        """End the server as a crash does. Its other processes end a moment later."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        """Stop the server, and delete its files."""
        if self._server:
            self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    def create_database(self, name: str) -> str:
        """Return the URL of a new database."""
        self._run("createdb", name)
        return f"postgresql+psycopg://plates@/{name}?host={self.folder}&port={self.port}"

    def run_sql(self, *statements: str) -> None:
        """Run statements, each by itself, in the database `postgres`."""
        commands = [part for statement in statements for part in ("-c", statement)]
        self._run("psql", "-d", "postgres", *commands)

    def read_sql(self, query: str) -> str:
        """Return the first value of a query in the database `postgres`."""
        return self._run("psql", "-d", "postgres", "-Atc", query).strip()

    @property
    def _user(self) -> str | None:
        """PostgreSQL does not run as root."""
        return "nobody" if os.geteuid() == 0 and pwd.getpwnam("nobody") else None

    def _is_running(self) -> bool:
        """Start the server unless it runs; it does not while a killed one holds the memory."""
        if self._server is None or self._server.poll() is not None:
            options = [part for setting in self.settings for part in ("-c", setting)]
            with (self.folder / "log").open("ab") as log:
                self._server = subprocess.Popen(
                    [self.programs / "postgres", "-D", "cluster", *self._place("-k"), *options],
                    cwd=self.folder,
                    env=self.environ,
                    user=self._user,
                    stdout=log,
                    stderr=log,
                )
        ready = [str(self.programs / "pg_isready"), *self._place("-h")]
        return subprocess.run(ready, capture_output=True).returncode == 0

    def _run(self, program: str, *arguments: str) -> str:
        command = [str(self.programs / program), *self._place("-h"), "-U", "plates", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def _place(self, option: str) -> tuple[str, ...]:
        """Return the options that name its socket."""
        return option, str(self.folder), "-p", str(self.port)

    def _end(self, number: signal.Signals) -> None:
        assert self._server
        self._server.send_signal(number)
        self._server.wait()
        self._server = None
