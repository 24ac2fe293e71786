"""A plugin of pytest that runs the tests of a list, in the order of the list, and tells each before it runs.

`pytest -p tests.mutation.chosen_plugin FILES…`: MUTATION_TESTS names a file with an id of a test a line. Before each
test its id, and after a failed one `FAILED` and its id, goes to the file of MUTATION_PROGRESS.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


class Chosen:
    def __init__(self) -> None:
        ids = Path(os.environ["MUTATION_TESTS"]).read_text().splitlines()
        self._order = {id_: place for place, id_ in enumerate(ids)}
        self._progress = Path(os.environ["MUTATION_PROGRESS"])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self._order]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self._order])
        items[:] = sorted(chosen, key=lambda item: self._order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tell(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._tell(f"FAILED {report.nodeid}")

    def _tell(self, line: str) -> None:
        with self._progress.open("a") as progress:
            progress.write(f"{line}\n")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Chosen())
