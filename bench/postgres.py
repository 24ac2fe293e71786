"""PostgreSQL storage beside task queues that run on PostgreSQL: `python -m bench.postgres`.

    python -m bench.postgres [--rounds N] [--tasks N] [--only NAME]... [--dry] [--hurry]

The target: as many tasks a second, outcomes kept in PostgreSQL, as the better of them. The figures are written into
docs/performance.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from bench import data, page
from bench.ending import run
from bench.figures import Section
from bench.measures import stored
from bench.performance import machine, versions_of
from bench.report import Target, finish, table
from bench.rounds import QUIET_ROUNDS, Measured
from bench.site import Subject
from bench.subjects import WORKERS
from bench.systems import ON_POSTGRES, OURS
from bench.tables import STORED
from bench.tcp_server import programs


def main() -> int:
    options = _options()
    measured = Measured(patient=not options.hurry)
    subjects = [subject for subject in _subjects(options.only) if measured.has_environment(subject)]
    measured.in_turn("stored", partial(stored.measure, tasks=options.tasks), subjects, options.rounds)
    section: dict[str, Any] = {
        **machine(with_peers=False),
        "versions": versions_of(ON_POSTGRES, {"asyncpg", "psycopg"}),
        **measured.json(),
    }
    table("PostgreSQL", ("", *STORED.columns), list(STORED.rows(Section(section))))
    if not options.dry:
        sections = {**data.load(), "postgres": section}
        data.store(sections)
        page.write_postgres(sections)
    return finish(list(_targets(Section(section))), {"rounds": section["rounds"]})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.postgres")
    parser.add_argument("--rounds", type=int, default=QUIET_ROUNDS, help="quiet rounds of each (at most twice as many)")
    parser.add_argument("--tasks", type=int, default=0, help="tasks of a round, in place of each system's own number")
    parser.add_argument("--only", action="append", default=[], help="names of subjects begin so; may be repeated")
    parser.add_argument("--dry", action="store_true", help="print the table and write nothing")
    parser.add_argument("--hurry", action="store_true", help="do not wait for a quiet moment before each round")
    return parser.parse_args()


def _subjects(only: Sequence[str]) -> list[Subject]:
    program = next(iter(programs().values()))
    systems = [system for system in ON_POSTGRES if not only or system.name.startswith(tuple(only))]
    return [Subject(system.name, system, WORKERS, program) for system in systems]


def _targets(section: Section) -> Iterator[Target]:
    ours = section.figure("stored", OURS, "kept")
    others = [section.figure("stored", title, "kept") for title in section.titles if title != OURS]
    best = max((figure.value for figure in others if figure), default=0.0)
    if ours and best:
        yield Target("tasks a second, run and kept, beside the better", ours.value / best, 1.0, at_least=True)


if __name__ == "__main__":
    run(main)
