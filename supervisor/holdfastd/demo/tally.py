"""Computes the result of the demonstration from recorded events, kills and the tasks' records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from holdfast.core.result_document import read_result
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfastd.demo import word_count
from holdfastd.demo.killer import Killer
from holdfastd.demo.recorder import Recorder
from holdfastd.demo.result import DemoResult, percentile


@dataclass(frozen=True, slots=True)
class Counted:
    """A task's result: its word count, and the start (Unix time) of the run that computed it."""

    words: int
    began: float


def _counted(record: TaskRecord) -> Counted | None:
    if record.state is not State.COMPLETED:
        return None
    return msgspec.convert(read_result(record.result).value, Counted)


def tally(
    recorder: Recorder, killer: Killer, records: Sequence[TaskRecord], texts: Sequence[str], seconds: float
) -> DemoResult:
    """The result of the demonstration."""
    results = [_counted(record) for record in records]
    counted = zip(results, texts, strict=True)
    wrong = sum(result is not None and result.words != word_count.count(text) for result, text in counted)
    recovered = _recoveries(recorder, killer, records, results)
    return DemoResult(
        accepted=recorder.accepted,
        completed=sum(record.state is State.COMPLETED for record in records),
        commits=recorder.commits.total(),
        committed_twice=sum(times > 1 for times in recorder.commits.values()),
        wrong=wrong,
        workers_killed=len(killer.killed),
        stewards_killed=killer.stewards,
        redelivered=recorder.redelivered,
        recovery_p50=percentile(recovered, 0.5),
        recovery_p99=percentile(recovered, 0.99),
        seconds=round(seconds, 1),
    )


def _recoveries(
    recorder: Recorder, killer: Killer, records: Sequence[TaskRecord], results: Sequence[Counted | None]
) -> list[float]:
    """Milliseconds from the kill to the handler's next run, for tasks that lost one worker: after a second death a task
    waits on purpose."""
    delays: list[float] = []
    for record, result in zip(records, results, strict=True):
        crashed = recorder.crashed.get(record.task_id, [])
        if len(crashed) == 1 and crashed[0] in killer.killed and result is not None:
            delays.append(1000 * (result.began - killer.killed[crashed[0]]))
    return delays
