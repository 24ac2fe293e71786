from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.mutation.areas import ROOT
from tests.mutation.line_marks import Marks
from tests.mutation.record import Record, carried_over, packed, unpacked
from tests.mutation.recording import record_missing
from tests.mutation.tree_copy import TreeCopy

pytestmark = [pytest.mark.slow, pytest.mark.long]  # of a tool, not of the product

DURATIONS = "config/holdfast_config/durations.py"
KILLED = """
import os, signal
from holdfast_config.durations import seconds, shortest
child = os.fork()
if child:
    os.waitpid(child, 0)
    seconds(5)
else:
    shortest(90)
os.kill(os.getpid(), signal.SIGKILL)
"""
SCRIPTS = "tests/lua/test_key_count.py"
COUNT, CLEAR = (f"workers/holdfast/store/lua/{name}.lua" for name in ("inspect/key_count", "lane/clear"))
ADMIN = "workers/holdfast/store/redis/admin.py"


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> tuple[TreeCopy, Marks]:
    copy = TreeCopy(tmp_path_factory.mktemp("marked") / "tree")
    return copy, copy.mark_lines()


def line_with(file: str, text: str) -> int:
    return next(number for number, line in enumerate((ROOT / file).read_text().splitlines(), 1) if text in line)


def test_processes_that_are_killed_lose_no_line(marked: tuple[TreeCopy, Marks]) -> None:
    copy, marks = marked
    program = [copy.python, "-c", KILLED]
    assert subprocess.run(program, env=copy.environment(), cwd=copy.folder, check=False).returncode == -signal.SIGKILL
    ran = {place - marks.first[DURATIONS] for place in marks.take()}
    assert line_with(DURATIONS, "return _finite(float(value))") in ran, "of the parent"
    assert line_with(DURATIONS, "if seconds and seconds %") in ran, "of its fork"
    assert line_with(DURATIONS, "return _finite(_written(") not in ran
    assert not marks.take()


def test_a_mark_that_is_made_meanwhile_stays_for_the_next_call(marked: tuple[TreeCopy, Marks]) -> None:
    _, marks = marked
    marks.ran[7] = 1
    assert marks.take() == {7}
    marks.ran[8] = marks.ran[7] = 1
    assert marks.take() == {7, 8}


def test_tests_are_known_by_lines_of_python_and_of_scripts_in_a_server(tmp_path: Path) -> None:
    path = tmp_path / "record.sqlite"
    assert not record_missing([SCRIPTS], 1, path)
    record = Record(path)
    assert not record.missing([SCRIPTS])
    assert record.outcomes() == {"passed": 3}
    runs = {(COUNT, "ours = ours + 1"): 3, (ADMIN, "size, looked_at, ours ="): 3, (CLEAR, "local"): 0}
    found = {place: len(record.tests_of([(place[0], line_with(*place))])) for place in runs}
    assert found == runs
    record.close()


def test_lines_are_carried_over_to_a_changed_text() -> None:
    now = carried_over("a\nb\nc\nd\n", "new\na\nother\nand more\nc\nd\n")
    assert now == {1: [], 2: [1], 3: [2], 4: [2], 5: [3], 6: [4]}


def test_packed_places_are_the_same_unpacked() -> None:
    assert [*unpacked(packed({3, 8, 70_000}))] == [3, 8, 70_000]
