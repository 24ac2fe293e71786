"""A plugin of pytest that keeps which lines each test runs, in a copy of the tree whose interpreters mark lines.

`pytest -p tests.mutation.recording_plugin`, with the path of the record in MUTATION_RECORD and the id of its layout in
MUTATION_LAYOUT. A test has the lines that
run from its first fixture to its last, in whatever process. What a fixture of more than one test runs while it is made
counts for each test that has the fixture.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.mutation.areas import ROOT
from tests.mutation.line_marks import Marks
from tests.mutation.lua_marks import ServerLogs
from tests.mutation.record import PASSED, Record, Test, file_hash
from tests.mutation.tree_copy import MARKS

Ran = dict[Test, tuple[str, set[int]]]


class Recorder:
    """`_open`: the lines of the test, and of each shared fixture that is being made in it, the innermost last."""

    def __init__(self) -> None:
        self._marks = Marks(ROOT / MARKS)
        self._logs = ServerLogs(self._marks)
        self._record = Record(Path(os.environ["MUTATION_RECORD"]))
        self._layout = os.environ["MUTATION_LAYOUT"]
        self._open: list[set[int]] = [set()]
        self._shared: dict[str, set[int]] = {}
        self._file: Ran = {}
        self._reports: list[pytest.TestReport] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        self._take()
        self._open.append(set())
        try:
            return (yield)
        finally:
            self._take()
            made = self._shared[fixturedef.argname] = self._open.pop()
            self._open[-1] |= made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, bool, bool]:
        self._open, self._reports = [set()], []
        try:
            return (yield)
        finally:
            self._take()
            self._keep(item)
            if nextitem is None or nextitem.path != item.path:
                self._keep_file(item.path.relative_to(ROOT).as_posix())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def _take(self) -> None:
        self._logs.settle()
        self._open[-1] |= self._marks.take()

    def _keep(self, item: pytest.Item) -> None:
        places = self._open[0]
        for name in getattr(item, "fixturenames", ()):
            places |= self._shared.get(name, set())
        outcomes = {report.outcome for report in self._reports}
        seconds = sum(report.duration for report in self._reports)
        test = Test(item.nodeid, item.path.relative_to(ROOT).as_posix(), round(seconds, 3))
        self._file[test] = PASSED if outcomes == {PASSED} else ", ".join(sorted(outcomes - {PASSED})), places

    def _keep_file(self, file: str) -> None:
        self._record.keep(file, file_hash(file), self._layout, self._file)
        self._file = {}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder())
