"""Checks the settings for values that are valid, but probably a mistake."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.store_info import MOST_PEEKS
from holdfast_config import Settings
from holdfastd.doctor.finding import Check, Finding

_LANES = Check("settings", "lanes")
_DRAIN = Check("settings", "drain")


def judge(settings: Settings) -> Iterator[Finding]:
    yield from _judge_lanes(settings)
    yield from _judge_drain(settings)


def _judge_lanes(settings: Settings) -> Iterator[Finding]:
    if settings.queue_name not in settings.lane_names:
        served = ", ".join(settings.lane_names)
        text = f"workers serve {served}, but not {settings.queue_name}, the default lane of new tasks"
        yield _LANES.warning(text, f"add it: --lanes {','.join((settings.queue_name, *settings.lane_names))}")
    if len(settings.lane_names) > MOST_PEEKS:
        yield _LANES.note(
            f"{len(settings.lane_names)} lanes; a supervisor watches {MOST_PEEKS} of them for entries pushed by other "
            "programs, and polls the others every 200 ms: in these an entry starts up to 200 ms later",
            "put the lanes to which other programs push first in --lanes, or use several queues (--queue-name)",
        )


def _judge_drain(settings: Settings) -> Iterator[Finding]:
    limits = (settings.task_timeout, *(lane.timeout for lane in settings.lanes))
    longest = max((seconds for seconds in limits if seconds is not None), default=0.0)
    if longest > settings.drain_timeout:
        text = (
            f"a task may run for {longest:g} s, but a stop waits only {settings.drain_timeout:g} s: "
            "tasks that take longer are interrupted and run again"
        )
        yield _DRAIN.note(text, f"--drain-timeout {longest:g}, or save checkpoints in the handler")
