"""The documented example of weights, with jobs that come back: `work "A:A:B"` runs that of A twice as often."""

from __future__ import annotations

import pytest

from tests.timeline.timeline import Timeline

RUNS = 60
ALONE = ("--workers", "1", "--concurrency", "1")


@pytest.mark.parametrize(("verb", "words"), [("work", ()), ("start", ALONE)], ids=["work", "start"])
def test_a_job_that_continues_is_back_in_its_lane_before_its_worker_claims(
    timeline: Timeline, verb: str, words: tuple[str, ...]
) -> None:
    timeline.bike.set("job1:A", "CONTINUE")
    timeline.bike.set("job2:B", "CONTINUE")
    with timeline.serving(verb, *words):
        timeline.until(lambda: len(timeline.ran()) >= RUNS)
    ran = "".join(jobid.rpartition(":")[2] for jobid in timeline.ran()[:RUNS])
    assert abs(ran.count("A") - 2 * ran.count("B")) <= 3, ran
