"""The Python that the supervisor runs on, and the libraries that matter most."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from holdfastd.doctor.finding import Check, Finding

OLDEST, NEWEST = (3, 11), (3, 13)
LIBRARIES = ("anyio", "uvloop", "redis", "hiredis", "msgspec")

_VERSION = Check("python", "version")
_LIBRARIES = Check("python", "libraries")


@dataclass(frozen=True, slots=True)
class PythonInfo:
    """`libraries`: name and version; the version is None if the library is missing."""

    version: tuple[int, int, int]
    libraries: dict[str, str | None]


def look() -> PythonInfo:
    return PythonInfo(sys.version_info[:3], {name: _version(name) for name in LIBRARIES})


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def judge(python: PythonInfo) -> Iterator[Finding]:
    name = f"Python {'.'.join(map(str, python.version))}"
    if python.version[:2] < OLDEST:
        yield _VERSION.problem(f"{name} is too old", "use Python 3.11 to 3.13")
    elif python.version[:2] > NEWEST:
        yield _VERSION.warning(f"{name} is newer than the versions that Holdfast is tested with", "use 3.11 to 3.13")
    else:
        yield _VERSION.ok(name)
    for library, installed in python.libraries.items():
        if installed is None:
            yield _LIBRARIES.problem(f"{library} is not installed", f"pip install --force-reinstall {library}")
    yield _LIBRARIES.ok(", ".join(f"{library} {found}" for library, found in python.libraries.items() if found))
