"""Measures this project, the bare loops and, with `--peers`, the peers; writes docs/performance.md, its plots and data.

python -m bench.performance [--peers] [--rounds N] [--minutes N] [--tasks N] [--only NAME]... [--dry] [--hurry]
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from bench import data, page, recovery
from bench.ending import run
from bench.environments import versions
from bench.figures import Section
from bench.machine import description
from bench.measures import crash, drain, latency, rest, throughput
from bench.report import table
from bench.rounds import QUIET_ROUNDS, Measured
from bench.site import Subject
from bench.subjects import at_rest, own, peers, supervised, timed
from bench.systems import OURS, PEERS, System
from bench.tables import ALL
from bench.tcp_server import programs, version

MINUTES = 40.0


def main() -> int:
    options = _options()
    subjects = _chosen([*own(), *(peers() if options.peers else ())], options.only)
    measured = Measured(time.monotonic() + 60 * options.minutes, patient=not options.hurry)
    _measure(measured, _installed(measured, subjects), options.rounds, options.tasks)
    section = {**machine(options.peers), **measured.json()}
    for title, layout in ALL.items():
        table(title, ("", *layout.columns), list(layout.rows(Section(section))))
    if not options.dry:
        _write(section, with_peers=options.peers)
    return 1 if any(OURS in of for of in section["failed"].values()) else 0


def own_section(rounds: int = QUIET_ROUNDS) -> dict[str, Any]:
    """This project and the bare loops alone."""
    measured = Measured(time.monotonic() + 60 * MINUTES)
    _measure(measured, own(), rounds)
    return {**machine(with_peers=False), **measured.json()}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.performance")
    parser.add_argument("--peers", action="store_true", help="measure the peers, too")
    parser.add_argument("--rounds", type=int, default=QUIET_ROUNDS, help="quiet rounds of each (at most twice as many)")
    parser.add_argument("--tasks", type=int, default=0, help="tasks of a round, in place of each system's own number")
    parser.add_argument("--only", action="append", default=[], help="names of subjects begin so; may be repeated")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="after so many only what has no figure yet")
    parser.add_argument("--dry", action="store_true", help="print the tables and write nothing")
    parser.add_argument("--hurry", action="store_true", help="do not wait for a quiet moment before each round")
    return parser.parse_args()


def _chosen(subjects: Sequence[Subject], only: Sequence[str]) -> list[Subject]:
    return [subject for subject in subjects if not only or subject.title.startswith(tuple(only))]


def machine(with_peers: bool) -> dict[str, Any]:
    servers = {name: version(program) for name, program in programs().items()}
    return {
        "cores": description()["cores"],
        "python": platform.python_version(),
        "servers": servers,
        "versions": versions_of(PEERS, {"redis", "hiredis"}) if with_peers else {},
    }


def versions_of(systems: Sequence[System], drivers: Collection[str]) -> dict[str, dict[str, str]]:
    """Of each system that has pins, and of those of its drivers."""
    pins = {system.name: versions(system.pins) for system in systems if system.pins}
    return {name: {pin: of[pin] for pin in of if pin in {name, *drivers}} for name, of in pins.items()}


def _installed(measured: Measured, subjects: Sequence[Subject]) -> list[Subject]:
    """Those whose environment is there or can be made now, before anything is measured."""
    return [subject for subject in subjects if measured.has_environment(subject)]


def _measure(measured: Measured, subjects: Sequence[Subject], rounds: int, tasks: int = 0) -> None:
    measured.in_turn("throughput", partial(throughput.measure, tasks=tasks), subjects, rounds)
    measured.in_turn("latency", latency.measure, timed(subjects), rounds)
    ours = [subject for subject in subjects if subject.title == OURS]
    measured.in_turn("crash", crash.measure, ours, rounds)
    measured.in_turn("drain", drain.measure, ours, rounds)
    measured.in_turn("kills", recovery.measure, ours, 1)
    measured.side_by_side("rest", rest.measure, at_rest(subjects))
    others = [subject for subject in supervised(subjects) if subject.title != OURS]
    measured.side_by_side("crash", crash.measure, others)
    measured.side_by_side("drain", drain.measure, others)


def _write(section: dict[str, Any], with_peers: bool) -> None:
    sections = data.load()
    sections["own"] = data.only(section, [subject.title for subject in own()])
    if with_peers:
        sections["peers"] = section
    data.store(sections)
    page.write(sections)


if __name__ == "__main__":
    run(main)
