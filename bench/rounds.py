"""All subjects in turn, round after round: what changes on the machine in an hour changes for all of them alike.

A round is quiet if others used less than 0.2 cores meanwhile. Each subject is measured until it has enough quiet
rounds, or has been tried often enough.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.environments import NotInstalledError, environment
from bench.figures import QUIET, Rounds
from bench.machine import await_quiet
from bench.measures import Figures
from bench.site import Subject
from holdfastd.cli.common.work_progress import WorkRate

QUIET_ROUNDS = 3
Measure = Callable[[Subject], Figures]
FAILURES = (TimeoutError, RuntimeError, OSError)


@dataclass(slots=True)
class Measured:
    """By measure and title of the subject; `failed` has the first line of an error in place of figures.

    Past `deadline`, on the monotonic clock, each subject has a first round still, and no further one. Without `patient`
    no quiet moment is awaited.
    """

    deadline: float = math.inf
    patient: bool = True
    rounds: dict[str, Rounds] = field(default_factory=dict[str, Rounds])
    failed: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def has_environment(self, subject: Subject) -> bool:
        try:
            environment(subject.system.pins)
        except NotInstalledError as error:
            self.failed.setdefault("throughput", {})[subject.title] = f"not installed: {error}"
            return False
        return True

    def in_turn(self, name: str, measure: Measure, subjects: Sequence[Subject], rounds: int = QUIET_ROUNDS) -> None:
        """One at a time, on a quiet machine where that can be had."""
        rate = WorkRate("round", f"of {name} measured", rounds * len(subjects))  # more, where others disturb some
        for _ in range(2 * rounds):
            for subject in subjects:
                if self._wants_another(name, subject, rounds):
                    if self.patient:
                        await_quiet()
                    self._measure(name, measure, subject)
                    if line := rate.line(sum(map(len, self.rounds.get(name, {}).values()))):
                        print(line, file=sys.stderr, flush=True)

    def side_by_side(self, name: str, measure: Measure, subjects: Iterable[Subject], at_once: int = 3) -> None:
        """Once each, some at the same time: for what waits rather than computes."""
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(partial(self._measure, name, measure), subjects))
        rounds = self.rounds.get(name, {})
        rounds.update({subject.title: rounds.pop(subject.title) for subject in subjects if subject.title in rounds})

    def json(self) -> dict[str, Any]:
        return {"rounds": self.rounds, "failed": self.failed}

    def _measure(self, name: str, measure: Measure, subject: Subject) -> None:
        started = time.monotonic()
        try:
            figures = measure(subject)
        except FAILURES as error:
            self.failed.setdefault(name, {})[subject.title] = str(error).splitlines()[0]
            print(f"{name}, {subject.title}: FAILED {error} {getattr(error, '__notes__', '')}", flush=True)
            return
        self.rounds.setdefault(name, {}).setdefault(subject.title, []).append(figures)
        shown = ", ".join(f"{key} {value:,.4g}" for key, value in figures.items())
        print(f"{name}, {subject.title} ({time.monotonic() - started:.0f} s): {shown}", flush=True)

    def _wants_another(self, name: str, subject: Subject, rounds: int) -> bool:
        done = self.rounds.get(name, {}).get(subject.title, [])
        if subject.title in self.failed.get(name, {}) or (done and time.monotonic() > self.deadline):
            return False
        return sum(figures.get("others", 0.0) < QUIET for figures in done) < rounds
