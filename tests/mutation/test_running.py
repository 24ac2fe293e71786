from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event

import psutil
import pytest

from tests.mutation.areas import ROOT
from tests.mutation.mutant import Change, Mutant
from tests.mutation.record import Record, Test
from tests.mutation.running import StoppedError, Trials, affordable
from tests.mutation.sampler import (
    EQUIVALENT,
    NO_TEST,
    NOTICED,
    SURVIVED,
    Sample,
    Verdict,
    mutants_of,
    share,
    table,
    too_few,
)
from tests.mutation.tree_copy import TreeCopy

pytestmark = [pytest.mark.slow, pytest.mark.long]  # of a tool, not of the product

FILE = "config/holdfast_config/durations.py"
TESTS = "tests/config/test_durations.py"
WRITTEN = Test(f"{TESTS}::test_a_written_duration_is_seconds[5m-300.0]", TESTS, 0.01)
REFUSED = Test(f"{TESTS}::test_what_is_no_duration_is_refused[nan]", TESTS, 0.02)
LEAVES_A_PROCESS = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> TreeCopy:
    return TreeCopy(tmp_path_factory.mktemp("copy") / "tree")


def test_a_command_ends_with_all_that_came_of_it() -> None:
    command = [sys.executable, "-m", "tests.mutation.alone", sys.executable, "-c", LEAVES_A_PROCESS]
    told = subprocess.run(command, capture_output=True, check=True, timeout=60, cwd=ROOT).stdout
    assert not psutil.pid_exists(int(told))


def _trial(copy: TreeCopy, mutant: Mutant, tests: list[Test], start: float = 60.0) -> tuple[bool, str]:
    text = (copy.folder / mutant.file).read_bytes()
    copy.write(mutant.file, mutant.change.made(text))
    try:
        trials = Trials(copy, Event(), start)
        return trials.imports(mutant), trials.noticed_by(mutant, tests)
    finally:
        copy.write(mutant.file, text)


def test_only_a_test_that_looks_notices(copy: TreeCopy) -> None:
    (planted,) = (each for each in mutants_of(FILE) if (each.where, each.operator) == ("_finite", "exception"))
    assert _trial(copy, planted, [WRITTEN]) == (True, "")
    assert _trial(copy, planted, [WRITTEN, REFUSED]) == (True, REFUSED.id)
    assert (ROOT / FILE).read_bytes() == (copy.folder / FILE).read_bytes()


def test_a_test_that_never_ends_notices(copy: TreeCopy) -> None:
    text = (ROOT / FILE).read_bytes()
    begins = text.index(b"def seconds(")
    endless = Mutant(
        FILE, 12, "seconds", "test", Change(begins, begins + 4, b"def seconds(*_):\n    while True: pass\n\n\ndef _")
    )
    assert _trial(copy, endless, [WRITTEN], start=8.0) == (True, f"{WRITTEN.id} (hangs)")


def test_a_renamed_test_notices_nothing_and_what_cannot_be_collected_does(copy: TreeCopy) -> None:
    (planted,) = (each for each in mutants_of(FILE) if (each.where, each.operator) == ("_finite", "exception"))
    assert _trial(copy, planted, [replace(REFUSED, id=f"{TESTS}::test_that_was")]) == (True, "")
    broken = replace(planted, change=Change(0, 0, b"import nothing_at_all\n"))
    imports, by = _trial(copy, broken, [WRITTEN])
    assert (imports, by.startswith(f"{TESTS} (pytest ended with ")) == (False, True)


def test_a_trial_that_is_stopped_tells_nothing(copy: TreeCopy) -> None:
    stop = Event()
    (planted,) = (each for each in mutants_of(FILE) if (each.where, each.operator) == ("_finite", "exception"))
    stop.set()
    with pytest.raises(StoppedError):
        Trials(copy, stop).noticed_by(planted, [WRITTEN])


def test_what_cannot_be_imported_is_known(copy: TreeCopy) -> None:
    (broken,) = (each for each in mutants_of(FILE) if each.change.new == b"'d_'")
    assert _trial(copy, broken, [])[0]
    (script, *_) = mutants_of("workers/holdfast/store/lua/task/retry.lua")
    broken_script = replace(script, change=Change(script.change.start, script.change.end, b"(("))
    assert _trial(copy, script, [])[0]
    assert not _trial(copy, broken_script, [])[0]


def test_the_cheapest_file_comes_first_and_its_cheapest_test() -> None:
    tests = [Test("b1", "b", 3.0), Test("b2", "b", 1.0), Test("a1", "a", 2.0), Test("c1", "c", 400.0)]
    assert [test.id for test in affordable(tests)] == ["a1", "b2", "b1"]
    assert [test.id for test in affordable(tests[3:])] == ["c1"], "one test at least"


def test_a_sample_goes_on_with_what_it_had(tmp_path: Path) -> None:
    """Without a record no test runs any line."""
    record, kept = Record(tmp_path / "record.sqlite"), tmp_path / "seed.jsonl"
    first = [*Sample(4, "7", ["settings", "handler"], record, kept).run(1)]
    assert [verdict.word for verdict in first] == [NO_TEST] * 4
    assert {verdict.area for verdict in first} == {"settings", "handler"}
    before = kept.read_text()
    assert [*Sample(4, "7", ["settings", "handler"], record, kept).run(2)] == first
    assert kept.read_text() == before
    record.close()


def test_shares_are_told_by_area_and_operator_without_equivalents() -> None:
    def verdict(word: str, area: str, operator: str) -> Verdict:
        return Verdict("", area, operator, word, "", "")

    of_web = [verdict(NOTICED, "web", "key")] * 9 + [verdict(EQUIVALENT, "web", "key")]
    lost = [verdict(SURVIVED, "agent", "unit"), verdict(NO_TEST, "agent", "key")]
    assert share(of_web) == 1
    assert too_few(of_web) == []
    assert too_few(of_web + lost) == ["agent", "unit", "all"]
    assert [line.split() for line in table(of_web + lost)[1:]] == [
        ["web", "10", "9", "0", "0", "1", "100%"],
        ["agent", "2", "0", "1", "1", "0", "0%"],
        ["unit", "1", "0", "1", "0", "0", "0%"],
        ["key", "11", "9", "0", "1", "1", "90%"],
        ["all", "12", "9", "1", "1", "1", "82%"],
    ]
