"""`supervisor work` and `supervisor dispatch` with jobs that do what jobs do: real processes, a real store."""

from __future__ import annotations

import time
from pathlib import Path

from tests.timeline.timeline import Timeline

KILLED = -9
AS_PEOPLE_WRITE = "http://x/y z:A"


def test_jobs_come_to_their_ends(timeline: Timeline) -> None:
    """One worker for all of it: starting one is what takes long."""
    bike = timeline.bike
    with timeline.serving("work"):
        bike.set("once:A", "NOW")
        bike.set("number:B", "NOW")
        bike.set("backoff:A", "CONTINUE")
        bike.set("stop:A", "CONTINUE")
        bike.set("unset:A", "CONTINUE")
        bike.set("fail:B", "CONTINUE")
        bike.set("parent:A", "NOW")
        bike.set(AS_PEOPLE_WRITE, "NOW")
        timeline.until_event("once:A", "STP")
        timeline.until_event("number:B", "STP")
        timeline.until_event("stop:A", "STP")
        timeline.until_event(AS_PEOPLE_WRITE, "STP")
        timeline.until_event("fail:B", "DIE")
        timeline.until(lambda: "unset:A" not in bike.statuses())
        timeline.until(lambda: "child:A" in timeline.ran())
        timeline.until_event("backoff:A", "TML")
        next_run = bike.tell("backoff:A")["next_run"]
        assert isinstance(next_run, int)
        assert next_run > time.time() + 1800  # the hour that its run asked for
    assert sorted(timeline.ran()) == sorted(
        ["once:A", "number:B", "backoff:A", "stop:A", "unset:A", "fail:B", "parent:A", "child:A", AS_PEOPLE_WRITE]
    )
    assert bike.schedules() == {
        "once:A": "STOP",
        "number:B": "STOP",
        "backoff:A": "CONTINUE",
        "stop:A": "STOP",
        "fail:B": "CONTINUE",
        "parent:A": "STOP",
        "child:A": "STOP",
        AS_PEOPLE_WRITE: "STOP",
    }


def test_continue_goes_round_without_a_dispatcher(timeline: Timeline) -> None:
    timeline.bike.set("job:A", "CONTINUE")
    with timeline.serving("work"):
        timeline.until(lambda: timeline.ran().count("job:A") >= 3)
        timeline.bike.set("job:A", "STOP")
        timeline.until_event("job:A", "STP")


def test_a_run_that_takes_too_long_ends_its_job(timeline: Timeline) -> None:
    with timeline.serving("work", 'tests.timeline.jobs:Jobs("short:A")'):
        timeline.bike.set("overrun:short", "CONTINUE")
        timeline.bike.set("overrun:A", "NOW")
        timeline.until_event("overrun:short", "DIE")
        timeline.until_event("overrun:A", "STP")  # what is usual is longer
    assert timeline.ran().count("overrun:short") == 1


def test_default_timeout_is_what_nobody_says_otherwise(timeline: Timeline) -> None:
    timeline.configure(worker='tests.timeline.jobs:Jobs("A")', default_timeout=0.05)
    with timeline.serving("work"):
        timeline.bike.set("overrun:A", "NOW")
        timeline.until_event("overrun:A", "DIE")


def test_a_worker_runs_one_job_at_a_time_and_lanes_by_their_weight(timeline: Timeline) -> None:
    timeline.gate.touch()
    with timeline.serving("work"):
        timeline.bike.set("held:A", "NOW")
        timeline.until(lambda: timeline.ran() == ["held:A"])
        assert timeline.bike.tell("held:A")["working"] is True
        for number in range(6):
            timeline.bike.set(f"a{number}:A", "NOW")
        for number in range(3):
            timeline.bike.set(f"b{number}:B", "NOW")
        assert timeline.ran() == ["held:A"]
        timeline.gate.unlink()
        timeline.until(lambda: len(timeline.ran()) == 10)
    lanes = [jobid.rpartition(":")[2] for jobid in timeline.ran()[1:]]
    assert lanes[:6].count("A") == 4  # two turns in three, while both hold jobs
    assert lanes.count("B") == 3


def test_unset_while_it_runs_lets_the_run_complete(timeline: Timeline) -> None:
    timeline.gate.touch()
    with timeline.serving("work"):
        timeline.bike.set("held:A", "CONTINUE")
        timeline.until_event("held:A", "WRK")
        timeline.bike.unset("held:A")
        assert timeline.bike.statuses() == {}
        timeline.gate.unlink()
        timeline.bike.set("last:A", "NOW")
        timeline.until_event("last:A", "STP")
    assert timeline.ran() == ["held:A", "last:A"]


def test_now_while_it_runs_is_one_run_after_it(timeline: Timeline) -> None:
    timeline.gate.touch()
    with timeline.serving("work"):
        timeline.bike.set("held:A", "NOW")
        timeline.until_event("held:A", "WRK")
        timeline.bike.set("held:A", "NOW")
        assert timeline.event("held:A") == "WRK"
        timeline.gate.unlink()
        timeline.until(lambda: len(timeline.ran()) == 2)
        timeline.until_event("held:A", "STP")
    assert timeline.ran() == ["held:A", "held:A"]


def test_dispatch_makes_what_is_due_from_a_file_and_keeps_the_time_file(timeline: Timeline) -> None:
    time_file = timeline.folder / "timefile"
    timeline.configure(worker='tests.timeline.jobs:Jobs("A:A:B")', timefile=time_file)
    soon = int(time.time()) + 1
    (timeline.folder / "jobs.csv").write_text(
        f'once:A,AT:{soon}\n\n"missed:B","DTSTART:20200101T000000Z\nRRULE:FREQ=YEARLY"\noff:A,STOP\n'
    )
    with timeline.serving("dispatch", "--schedules", "jobs.csv", "--after", "1600000000"):
        timeline.until_event("once:A", "ENQ")
        assert timeline.event("missed:B") == "ENQ"
        assert timeline.event("off:A") == "STP"
        timeline.until(lambda: time_file.exists() and int(time_file.read_text()) >= soon)
    assert timeline.ran() == []


def test_two_workers_and_two_dispatchers_run_each_job_once(timeline: Timeline) -> None:
    jobids = [f"job{number}:{'AB'[number % 2]}" for number in range(20)]
    with timeline.serving("work"), timeline.serving("work"), timeline.serving("dispatch"), timeline.serving("dispatch"):
        due = f"AT:{int(time.time()) + 1}"
        for jobid in jobids:
            timeline.bike.set(jobid, due)
        timeline.until(lambda: set(map(timeline.event, jobids)) == {"STP"})
    assert sorted(timeline.ran()) == sorted(jobids)


def test_what_a_killed_worker_held_is_run_again(timeline: Timeline) -> None:
    """Its lock file tells the steward of its host."""
    timeline.gate.touch()
    timeline.bike.set("held:A", "NOW")
    with timeline.serving("dispatch"):
        with timeline.serving("work") as killed:
            timeline.until(lambda: timeline.ran() == ["held:A"])
            killed.kill()
            assert killed.wait() == KILLED
        timeline.gate.unlink()
        with timeline.serving("work"):
            timeline.until_event("held:A", "STP")
    assert timeline.ran() == ["held:A", "held:A"]


def test_a_pool_takes_a_worker_class_as_its_handler(timeline: Timeline) -> None:
    words = ("--runtime-dir", str(timeline.folder / "pool"), "--workers", "2")
    with timeline.serving("start", *words):
        timeline.bike.set("job:A", "NOW")
        timeline.bike.set("job:B", "NOW")
        timeline.until_event("job:A", "STP")
        timeline.until_event("job:B", "STP")
    assert sorted(timeline.ran()) == ["job:A", "job:B"]


def test_a_class_may_name_its_lanes_itself(timeline: Timeline) -> None:
    with timeline.serving("work", "tests.timeline.jobs:Own(0)"):
        timeline.bike.set("job:B", "NOW")
        timeline.until_event("job:B", "STP")


def test_a_handler_gets_the_jobs_id_as_its_message(timeline: Timeline) -> None:
    (timeline.folder / "plain.py").write_text(
        "from tests.timeline.jobs import note\ndef handle(messages):\n    note(messages[-1]['parts'][0]['text'])\n"
    )
    with timeline.serving("work", "plain:handle", "--lanes", "A"):
        timeline.bike.set("job:A", "NOW")
        timeline.until_event("job:A", "STP")
    assert timeline.ran() == ["job:A"]


def test_what_cannot_be_worked_is_told_with_its_status(timeline: Timeline) -> None:
    for worker, reason in {
        "tests.timeline.jobs:Jobs(open('x'))": "literals",
        "tests.timeline.jobs:note('x')": "no worker class of holdfast.timeline",
        "tests.timeline.jobs:Jobs()": "cannot be made",
        "tests.timeline.jobs:Jobs('')": "queue_names()",
        "tests.timeline.jobs:Nobody('A')": "it has no Nobody",
    }.items():
        answer = timeline("work", worker)
        assert (answer.status, reason in answer.err) == (78, True), (worker, answer.err)


def test_an_unreachable_store_ends_it_at_once(timeline: Timeline) -> None:
    missing = Path(timeline.folder / "nowhere.sock")
    timeline.conf.write_text(
        timeline.conf.read_text().replace(timeline.redis.url.removeprefix("unix://"), str(missing))
    )
    assert timeline("work").status == 69
    assert timeline("dispatch").status == 69
