"""A trail is read back as the scripts wrote it."""

from __future__ import annotations

import re

import pytest

from holdfast.core.trail import EVENTS, KEPT, LAYOUTS, Chronicle, TrailStep, read_step
from holdfast.store.redis import scripts

CLAIM = "2:ab12:7"

LINES = [
    (f"5 claimed {CLAIM}", TrailStep(5, "claimed", claim=CLAIM)),
    (
        f"5 settled completed 3 {CLAIM} it is fine",
        TrailStep(5, "settled", "it is fine", CLAIM, kind="completed", number=3),
    ),
    (f"5 settled completed 1 {CLAIM} ", TrailStep(5, "settled", "", CLAIM, kind="completed", number=1)),
    (f"5 retry {CLAIM} ValueError: 1 2:x:3", TrailStep(5, "retry", "ValueError: 1 2:x:3", CLAIM)),
    (f"5 release {CLAIM} drain", TrailStep(5, "release", "drain", CLAIM)),
    (f"5 suspended {CLAIM} pause", TrailStep(5, "suspended", "pause", CLAIM)),
    ("5 suspended by an operator", TrailStep(5, "suspended", "by an operator")),
    (f"5 crashed 2 signal: SIGKILL {CLAIM}", TrailStep(5, "crashed", "signal: SIGKILL", CLAIM, number=2)),
    (f"5 recovered lease lapsed {CLAIM}", TrailStep(5, "recovered", "lease lapsed", CLAIM)),
    (f"5 returned {CLAIM}", TrailStep(5, "returned", claim=CLAIM)),
    (f"5 returned {CLAIM} drain", TrailStep(5, "returned", "drain", claim=CLAIM)),
    ("5 delayed 1700000000000", TrailStep(5, "delayed", due_ms=1700000000000)),
    ("5 promoted ", TrailStep(5, "promoted")),
    ("5 canceled no longer\nwanted", TrailStep(5, "canceled", "no longer\nwanted")),
    ("5 dead-letter 5 crashes", TrailStep(5, "dead-letter", number=5)),
    ("5 turn m-2", TrailStep(5, "turn", other="m-2")),
    ("5 retried t1.r1 by hand", TrailStep(5, "retried", "by hand", other="t1.r1")),
    ("5 retry-of t1", TrailStep(5, "retry-of", other="t1")),
    ("5 waits 3", TrailStep(5, "waits", number=3)),
    ("5 ready ", TrailStep(5, "ready")),
    ("5 parent-failed t0 canceled", TrailStep(5, "parent-failed", "canceled", other="t0")),
    ("5 expired expired", TrailStep(5, "expired", "expired")),
    ("5 claimed nonsense", TrailStep(5, "claimed", "nonsense")),
    ("5 danced with wolves", TrailStep(5, "danced", "with wolves")),
    ("nonsense", TrailStep(0, "")),
    ("", TrailStep(0, "")),
]


@pytest.mark.parametrize(("line", "step"), LINES, ids=[line[:30] for line, _ in LINES])
def test_a_line_is_read_into_its_parts(line: str, step: TrailStep) -> None:
    assert read_step(line) == step


def test_a_claim_tells_delivery_and_incarnation() -> None:
    step = read_step(f"5 claimed {CLAIM}")
    assert (step.delivery, step.incarnation) == (2, "ab12")
    assert (read_step("5 promoted ").delivery, read_step("5 promoted ").incarnation) == (0, "")


def every_script() -> str:
    return "\n".join(scripts.text(name) for name in (*scripts.operations(), *scripts.shared_parts()))


def test_every_event_that_a_script_writes_is_known() -> None:
    text = every_script()
    noted = set(re.findall(r"\bnote(?:_end)?\('([a-z-]+)'", text)) | {
        "retry",
        "release",
        "defer",
        "suspended",
        "sleep",
    }  # noted by their kind
    assert noted | {"step"} == LAYOUTS.keys()  # steps are kept beside the trail
    chronicled = set(re.findall(r"\bchronicle\(id, '([a-z]+)'", text)) | {"fired"}  # or skipped, by what was found
    assert chronicled == set(Chronicle)
    told = set(re.findall(r"\btell\('([a-z-]+)'", text)) - {"schedule-"} | {f"schedule-{what}" for what in chronicled}
    assert noted | told == set(EVENTS)


def test_as_many_lines_are_expected_as_are_kept() -> None:
    assert f"TRAIL_KEPT = {KEPT} " in every_script()
