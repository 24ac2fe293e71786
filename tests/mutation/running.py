"""Runs the tests of a mutant in a copy of the tree, cheapest first, until one notices it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from threading import Event

from tests.mutation.mutant import Mutant
from tests.mutation.record import Test
from tests.mutation.tree_copy import TreeCopy

IMPORT_LIMIT = 60.0  # seconds
FIRST_BATCH = 6.0  # seconds of the first run of pytest, with the cost of its files; each later one has twice as many
FILE_COST = 1.0  # seconds: what a file costs besides its tests
SLOWER = 6.0  # times as long as when it was recorded: a test that takes longer hangs
START = 60.0  # seconds until the first test runs, or between two
POLL = 0.2
NO_TESTS = 5  # what pytest ends with: the tests were renamed since they were recorded
AFFORDABLE = 300.0  # seconds of recorded tests for one mutant: who survives the cheapest of them survives


class StoppedError(Exception):
    """The trial was to stop before its end."""


@dataclass(frozen=True, slots=True)
class Failure:
    """`test`: the id of the test that failed; empty if pytest itself did. `is_sure`: it need not be seen again."""

    test: str
    said: str
    is_sure: bool = False


class Trials:
    """The trials of one copy, one after another. `stop`: when it is set, the running trial ends with StoppedError.
    `start`: seconds that a run may take before its first test begins."""

    def __init__(self, copy: TreeCopy, stop: Event, start: float = START) -> None:
        self._copy = copy
        self._stop = stop
        self._start = start
        self._tests = copy.folder / "mutation-tests"
        self._progress = copy.folder / "mutation-progress"
        self._log = copy.folder / "mutation.log"

    def imports(self, mutant: Mutant) -> bool:
        """True if the changed module can be imported, or the changed script can be built."""
        if mutant.file.endswith(".lua"):
            name = Path(mutant.file).stem
            code = f"from tests.mutation.lua_operators import build_all; build_all({name!r})"
        else:
            _, _, module = mutant.file.removesuffix(".py").removesuffix("/__init__").partition("/")
            code = f"import {module.replace('/', '.')}"
        return self._run([str(self._copy.python), "-c", code], {}, IMPORT_LIMIT) == 0

    def noticed_by(self, mutant: Mutant, tests: Sequence[Test]) -> str:
        """The test that failed twice in a row, or hung, with the mutant; empty if no test did."""
        for batch in batches(tests):
            left = batch
            while left and (failure := self._first_failure(left)):
                failed = [test for test in left if test.id == failure.test]
                if failure.is_sure or self._first_failure(failed or left):
                    return failure.said
                left = left[left.index(failed[0]) + 1 :] if failed else []  # it failed by luck: go on behind it
        return ""

    def _first_failure(self, tests: Sequence[Test]) -> Failure | None:
        seconds = {test.id: test.seconds for test in tests}
        self._tests.write_text("".join(f"{id_}\n" for id_ in seconds))
        self._progress.write_text("")
        plugins = ("-p", "no:cacheprovider", "-p", "tests.mutation.chosen_plugin")
        files = dict.fromkeys(test.file for test in tests)
        command = [str(self._copy.python), "-m", "pytest", "-q", "-x", *plugins, *files]
        environment = {"MUTATION_TESTS": str(self._tests), "MUTATION_PROGRESS": str(self._progress)}
        code = self._run(command, environment, 0.0, seconds)
        told = self._progress.read_text().splitlines()
        failed = [line.removeprefix("FAILED ") for line in told if line.startswith("FAILED ")]
        running = told[-1] if told else " ".join(files)
        if failed:
            return Failure(failed[0], failed[0])
        if code is None:
            return Failure("", f"{running} (hangs)", is_sure=bool(told))
        if code in {0, NO_TESTS}:
            return None
        return Failure("", f"{running} (pytest ended with {code})")  # a file cannot be imported, or a process died

    def _run(
        self, command: Sequence[str], environment: Mapping[str, str], limit: float, seconds: Mapping[str, float] = {}
    ) -> int | None:
        """The exit status; None if it took too long: longer than `limit`, or one of the tests did."""
        alone = [str(self._copy.python), "-m", "tests.mutation.alone", *command]
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                alone, cwd=self._copy.folder, env={**self._copy.environment(), **environment}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
            )  # fmt: skip
            told, deadline = "", _from_now(limit or self._start)
            while True:
                try:
                    return process.wait(POLL)
                except subprocess.TimeoutExpired:
                    if seconds and (now := self._running()) != told:
                        told, deadline = now, _from_now(self._start + SLOWER * seconds.get(now, 0.0))
                    if self._stop.is_set() or time.monotonic() > deadline:
                        process.terminate()
                        process.wait()
                        if self._stop.is_set():
                            raise StoppedError from None
                        return None

    def _running(self) -> str:
        told = self._progress.read_text().splitlines()
        return told[-1] if told else ""


def _from_now(seconds: float) -> float:
    """The moment by which these seconds have passed. On a machine that is busy, everything takes as much longer."""
    return time.monotonic() + seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def affordable(tests: Sequence[Test]) -> list[Test]:
    """The tests in the order in which they run: the cheapest file first, as fixtures are made once a file, and its
    cheapest test."""
    by_file = [list(group) for _, group in groupby(sorted(tests, key=lambda test: test.file), lambda test: test.file)]
    by_file.sort(key=_cost)
    found, spent = list[Test](), 0.0
    for each in by_file:
        for test in sorted(each, key=lambda test: test.seconds):
            if found and spent + test.seconds > AFFORDABLE:
                return found
            found.append(test)
            spent += test.seconds
    return found


def batches(tests: Sequence[Test]) -> Iterator[list[Test]]:
    """The tests in runs of pytest, each with all of a file."""
    batch, room = list[Test](), FIRST_BATCH
    for _, group in groupby(tests, lambda test: test.file):
        batch += group
        if FILE_COST * len({test.file for test in batch}) + sum(test.seconds for test in batch) > room:
            yield batch
            batch, room = [], 2 * room
    if batch:
        yield batch


def _cost(tests: Sequence[Test]) -> float:
    return FILE_COST + sum(test.seconds for test in tests)
