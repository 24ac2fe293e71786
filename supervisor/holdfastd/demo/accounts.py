"""The books made up: from what was witnessed, who was killed, and what the tasks' records say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from holdfast.client.results import read_result
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfastd.demo import word_count
from holdfastd.demo.killer import Killer
from holdfastd.demo.observed import ObservedTasks, percentile
from holdfastd.demo.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Counted:
    """A task's result: its words, and when (Unix time) the run began that counted them."""

    words: int
    began: float


def _counted(record: TaskRecord) -> Counted | None:
    if record.state is not State.COMPLETED:
        return None
    return msgspec.convert(read_result(record.result).value, Counted)


def books(
    witness: Recorder, killer: Killer, records: Sequence[TaskRecord], spoken: Sequence[str], seconds: float
) -> ObservedTasks:
    """What came of it all."""
    results = [_counted(record) for record in records]
    counted = zip(results, spoken, strict=True)
    wrong = sum(result is not None and result.words != word_count.count(text) for result, text in counted)
    recovered = _recoveries(witness, killer, records, results)
    return ObservedTasks(
        accepted=witness.accepted,
        completed=sum(record.state is State.COMPLETED for record in records),
        commits=witness.commits.total(),
        committed_twice=sum(times > 1 for times in witness.commits.values()),
        wrong=wrong,
        workers_killed=len(killer.killed),
        stewards_killed=killer.stewards,
        redelivered=witness.redelivered,
        recovery_p50=percentile(recovered, 0.5),
        recovery_p99=percentile(recovered, 0.99),
        seconds=round(seconds, 1),
    )


def _recoveries(
    witness: Recorder, killer: Killer, records: Sequence[TaskRecord], results: Sequence[Counted | None]
) -> list[float]:
    """Milliseconds from the kill to the handler's next run, of tasks that lost one worker: after a second death a task
    waits on purpose."""
    found: list[float] = []
    for record, result in zip(records, results, strict=True):
        crashed = witness.crashed.get(record.task_id, [])
        if len(crashed) == 1 and crashed[0] in killer.killed and result is not None:
            found.append(1000 * (result.began - killer.killed[crashed[0]]))
    return found
