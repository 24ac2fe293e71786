"""The subjects: each system at so many workers, on each server that this host has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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


def timed(subjects: Iterable[Subject]) -> list[Subject]:
    """Those whose latency is measured."""
    return [subject for subject in subjects if subject.workers == WORKERS]


def at_rest(subjects: Iterable[Subject]) -> list[Subject]:
    """Each once, with 8 workers; the bare loops keep nothing that could be compared."""
    systems = {subject.system.name: subject for subject in supervised(subjects)}
    return [
        replace(subject, title=f"{name}, {MORE_WORKERS} workers", workers=MORE_WORKERS)
        for name, subject in systems.items()
    ]


def supervised(subjects: Iterable[Subject]) -> list[Subject]:
    """Those that hold tasks while they run; on one server is enough."""
    return [subject for subject in subjects if subject.system not in LOOPS and subject.title == subject.system.name]
