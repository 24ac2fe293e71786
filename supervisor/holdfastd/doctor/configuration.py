"""Settings that are allowed, and seldom meant."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.store.protocol import MOST_PEEKS
from holdfast_config import Settings
from holdfastd.doctor.finding import Check, Finding

_LANES = Check("settings", "lanes")
_DRAIN = Check("settings", "drain")


def judge(settings: Settings) -> Iterator[Finding]:
    if settings.queue_name not in settings.lane_names:
        taken = ", ".join(settings.lane_names)
        found = f"workers take from {taken}, and not from {settings.queue_name}, where tasks go by default"
        yield _LANES.warning(found, f"add it: --lanes {','.join((settings.queue_name, *settings.lane_names))}")
    if len(settings.lane_names) > MOST_PEEKS:
        yield _LANES.note(
            f"{len(settings.lane_names)} lanes; a supervisor waits at {MOST_PEEKS} of them, and looks at the others "
            "every 200 ms: there an entry that is pushed without a bell begins so much later",
            "name the lanes first that are pushed to, or use several queues (--queue-name)",
        )
    limits = (settings.task_timeout, *(lane.timeout for lane in settings.lanes))
    longest = max((seconds for seconds in limits if seconds is not None), default=0.0)
    if longest > settings.drain_timeout:
        found = (
            f"a task may run for {longest:g} s, and a stop waits {settings.drain_timeout:g} s: "
            "longer ones are cut off and run again"
        )
        yield _DRAIN.note(found, f"--drain-timeout {longest:g}, or checkpoints in the handler")
