"""Lines of one event are written so often a minute; the rest is counted, and told once when the minute is over."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from holdfast_config.logging import (
    MOST,
    MOST_KINDS,
    MOST_OF_SUBJECTS,
    OTHERS,
    REPEATED,
    WINDOW,
    JsonLines,
    LimitRepeats,
    LineKind,
    RepeatLimit,
    most_of,
)

PROGRAM = """
import logging, os, structlog
from holdfast_config.logging import configure, tell_left_out
configure("debug", "json")
ours, handlers = structlog.get_logger("holdfast.worker"), structlog.get_logger("holdfast.task")
for number in range(40):
    ours.warning("away", attempt=number)
    ours.debug("seen", number=number)
    handlers.info("said")
    logging.getLogger("library").warning("lost connection %d", number)
if os.fork() == 0:
    tell_left_out(is_end=True)
    os._exit(0)
os.wait()
tell_left_out()
tell_left_out(is_end=True)
tell_left_out(is_end=True)
"""

ONE, OTHER = LineKind("holdfast.worker", "warning", "one"), LineKind("holdfast.worker", "warning", "other")


def log(limit: RepeatLimit, times: int, now: float, kind: LineKind = ONE, most: int = 3) -> int:
    return sum(limit.admits(kind, most, now) for _ in range(times))


def test_what_is_within_the_bound_is_written_and_nothing_is_told() -> None:
    limit = RepeatLimit()
    assert log(limit, 3, 0.0) == 3
    assert limit.next_end is None
    assert list(limit.ended(WINDOW)) == []


def test_what_is_beyond_the_bound_is_told_once_when_the_minute_is_over() -> None:
    limit = RepeatLimit()
    assert log(limit, 44, 0.0) == 3
    assert limit.next_end == WINDOW
    assert list(limit.ended(WINDOW - 0.1)) == []
    assert list(limit.ended(WINDOW)) == [(ONE, 41)]
    assert list(limit.ended(WINDOW)) == []
    assert limit.next_end is None


def test_the_next_line_of_any_event_tells_what_was_left_out_until_its_moment() -> None:
    now = [0.0]
    processor = LimitRepeats(lambda: now[0])
    logger = JsonLines("holdfast.worker")
    with capture_logs() as told:
        for _ in range(MOST):
            assert processor(logger, "info", {"event": "one"})
        with pytest.raises(structlog.DropEvent):
            processor(logger, "info", {"event": "one"})
        now[0] = WINDOW - 0.1
        assert processor(logger, "info", {"event": "other"})
        assert told == []
        now[0] = WINDOW
        assert processor(logger, "info", {"event": "other"})
    assert told == [{"event": REPEATED, "of": "one", "count": 1, "log_level": "info"}]


def test_a_new_minute_writes_again() -> None:
    limit = RepeatLimit()
    assert log(limit, 3, 0.0) == 3
    assert log(limit, 5, WINDOW) == 3
    assert list(limit.ended(2 * WINDOW)) == [(ONE, 2)]


def test_nothing_is_written_before_what_was_left_out_is_told() -> None:
    limit = RepeatLimit()
    log(limit, 5, 0.0)
    assert log(limit, 1, WINDOW + 1) == 0
    assert list(limit.ended(WINDOW + 1)) == [(ONE, 3)]
    assert log(limit, 1, WINDOW + 1) == 1


def test_events_are_counted_apart() -> None:
    limit = RepeatLimit()
    log(limit, 9, 0.0)
    assert log(limit, 9, 10.0, OTHER) == 3
    assert limit.next_end == WINDOW
    assert list(limit.ended(WINDOW)) == [(ONE, 6)]
    assert limit.next_end == WINDOW + 10
    assert list(limit.ended(WINDOW + 10)) == [(OTHER, 6)]


def test_any_number_of_events_is_counted_in_bounded_memory() -> None:
    limit = RepeatLimit()
    written = sum(log(limit, 1, 0.0, LineKind("library", "warning", f"line {number}")) for number in range(10_000))
    assert written == MOST_KINDS + 3
    assert list(limit.ended(WINDOW)) == [(OTHERS, 10_000 - written)]


def test_quiet_events_make_room_for_others() -> None:
    limit = RepeatLimit()
    for minute in range(3):
        for number in range(MOST_KINDS):
            assert log(limit, 1, minute * WINDOW, LineKind("library", "warning", f"line {minute} {number}")) == 1


def test_a_forked_process_tells_nothing_of_its_parent() -> None:
    limit = RepeatLimit()
    log(limit, 9, 0.0)
    limit.clear()
    assert limit.next_end is None
    assert list(limit.ended(WINDOW)) == []


def test_lines_that_name_a_task_or_a_process_have_a_bound_of_their_own() -> None:
    assert most_of({"event": "one", "error": "x"}) == MOST
    assert [most_of({name: "x"}) for name in ("task", "slot", "incarnation", "schedule")] == [MOST_OF_SUBJECTS] * 4


def test_a_process_writes_the_first_lines_and_tells_once_how_many_it_left_out() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True, check=True)
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stderr.splitlines()]
    counts = {
        event: sum(line["event"].startswith(event) for line in lines) for event in ("away", "seen", "said", "lost")
    }
    assert counts == {"away": MOST, "seen": 40, "said": 40, "lost": MOST}
    told = [line for line in lines if line["event"] == REPEATED]
    assert {(line["logger"], line["level"], line["of"], line["count"]) for line in told} == {
        ("holdfast.worker", "warning", "away", 10),
        ("library", "warning", "lost connection %d", 10),
    }
    assert len(told) == 2
