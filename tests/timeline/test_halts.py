"""`supervisor control HALT` as it is documented: workers and dispatchers finish and end, and may be started again."""

from __future__ import annotations

from tests.forked import Program
from tests.timeline.timeline import PATIENCE, Timeline

ENDS = "halted, "
AGAIN = "); to end it: supervisor control RESUME; this process runs nevertheless"


def halt(timeline: Timeline) -> None:
    answer = timeline("control", "HALT", "--reason", "upgrade")
    assert (answer.status, answer.out.startswith("all hosts are halted: ")) == (0, True), answer.err


def since_ready(timeline: Timeline, process: Program) -> list[str]:
    told = timeline.told[process.pid]
    return told[1 + next(at for at, line in enumerate(told) if "ready" in line) :]


def ended(timeline: Timeline, *processes: Program) -> None:
    assert [process.wait(PATIENCE) for process in processes] == [0] * len(processes)


def test_halt_ends_work_and_dispatch_which_may_be_started_again(timeline: Timeline) -> None:
    timeline.gate.touch()
    with timeline.serving("work") as work, timeline.serving("dispatch") as dispatch:
        timeline.bike.set("held:A", "CONTINUE")
        timeline.until(lambda: timeline.ran() == ["held:A"])
        timeline.bike.set("waits:A", "NOW")
        halt(timeline)
        ended(timeline, dispatch)
        assert work.poll() is None
        timeline.gate.unlink()
        ended(timeline, work)
    assert timeline.ran() == ["held:A"]
    assert timeline.event("waits:A") == "ENQ"
    for process in (work, dispatch):
        [line] = since_ready(timeline, process)
        assert ENDS in line
        assert ", upgrade (ordered by " in line
        assert line.count(" by ") == 1, "its author is named once"

    timeline.bike.set("held:A", "STOP")
    with timeline.serving("work") as work, timeline.serving("dispatch") as dispatch:
        timeline.until_event("waits:A", "STP")
        timeline.bike.set("again:B", "CONTINUE")
        timeline.until(lambda: timeline.ran().count("again:B") > 1)
        halt(timeline)
        ended(timeline, work, dispatch)
    assert timeline("control", "RESUME").out == "all hosts are halted no more: 0 workers claim tasks\n"
    for process in (work, dispatch):
        assert [AGAIN in line for line in timeline.told[process.pid] if "HALTED" in line] == [True]
        [line] = [heard for heard in since_ready(timeline, process) if AGAIN not in heard]
        assert ENDS in line


def test_what_was_started_before_a_halt_that_has_ended_ends_all_the_same(timeline: Timeline) -> None:
    with timeline.serving("work") as work, timeline.serving("dispatch") as dispatch:
        halt(timeline)
        assert timeline("control", "RESUME").status == 0
        ended(timeline, work, dispatch)
    with timeline.serving("work"):
        timeline.bike.set("job:A", "NOW")
        timeline.until_event("job:A", "STP")
    assert not [line for lines in list(timeline.told.values())[2:] for line in lines if "HALT" in line]
