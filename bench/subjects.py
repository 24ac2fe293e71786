"""What is measured: each system at so many workers, on each server that this host has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.site import Subject
from bench.systems import HOLDFAST, LOOPS, PEERS, System
from bench.tcp_server import programs

WORKERS, MORE_WORKERS = 2, 8


def own() -> list[Subject]:
    """This project and the bare loops, with 2 and 8 workers; the bundled Valkey beside the host's Redis."""
    return [*_own(HOLDFAST), *_own(LOOPS[0]), *(_subject(system, WORKERS) for system in LOOPS[1:])]


def peers(names: Sequence[str] = ()) -> list[Subject]:
    return [_subject(system, WORKERS) for system in PEERS if not names or system.name in names]


def _own(system: System) -> Iterator[Subject]:
    yield _subject(system, WORKERS)
    yield _subject(system, MORE_WORKERS)
    if "Redis" in programs():
        yield Subject(f"{system.name}, Valkey", system, WORKERS, programs()["Valkey"])


def _subject(system: System, workers: int) -> Subject:
    title = system.name if workers == WORKERS else f"{system.name}, {workers} workers"
    return Subject(title, system, workers, next(iter(programs().values())))
