"""Checks that weights hold: eight workers, two lanes that stay full, 6 to 3: `python -m bench.lanes`.

The share of the heavier lane among the tasks started while both lanes held some, at several sizes of worker; beside it
the rate at which they ran, and the same tasks in one lane.
"""

from __future__ import annotations

from collections.abc import Sequence

import uvloop

from bench import producing, work
from bench.ending import run
from bench.environ import environ
from bench.pool import folder, pool
from bench.records import Record, records
from bench.report import Target, finish, table
from bench.server import server
from bench.waiting import until
from holdfast.client.task_spec import TaskSpec

TASKS = 6_000  # in each lane
WORKERS = 8
SLOTS = (1, 10, 50)
HIGH, LOW = "bindu:tasks:high", "bindu:tasks"
WEIGHTS = {HIGH: 6, LOW: 3}
SHARE = WEIGHTS[HIGH] / sum(WEIGHTS.values())
TOLERANCE = 0.02
CLAIMED = TASKS // 10  # tasks of a lane: fewer that have not started may all be claimed
PATIENCE = 120.0  # seconds


def main() -> int:
    rows, worst = [], 0.0
    for slots in SLOTS:
        two, one = _measure(slots, HIGH), _measure(slots, LOW)
        full = two[: _while_both(two)]
        share = sum(_is_high(record) for record in full) / len(full)
        worst = max(worst, abs(share - SHARE))
        rows.append((f"--concurrency {slots}", len(full), round(share, 4), round(_rate(two)), round(_rate(one))))
    columns = (f"{WORKERS} workers", "starts", f"share, wanted {SHARE:.4f}", "tasks/s", "in one lane")
    table("two full lanes, weights 6 and 3", columns, rows)
    return finish([Target("share of the heavier lane, off by", worst, TOLERANCE)], {"rows": rows})


def _measure(slots: int, other: str) -> list[Record]:
    """Every second task goes to `other`, the rest to the plain queue; all starts in their order."""
    flags = ["--concurrency", str(slots), "--lanes", ",".join(f"{name}={weight}" for name, weight in WEIGHTS.items())]
    with records() as seen, folder() as place, server(place) as url:
        uvloop.run(_fill(url, other))
        with pool("bench.handlers:noop", WORKERS, place, environ(seen), "--redis-url", url, *flags):
            until(lambda: seen.count() >= 2 * TASKS, PATIENCE, "all tasks have run")
        return seen.read()


async def _fill(url: str, other: str) -> None:
    async with producing.managing(url) as manager:
        for start in range(0, 2 * TASKS, producing.BATCH):
            await manager.run_tasks([_spec(n, other) for n in range(start, start + producing.BATCH)])


def _spec(number: int, other: str) -> TaskSpec:
    return TaskSpec(text=work.text(number), task_id=work.task_id(number), lane=other if number % 2 else LOW)


def _is_high(record: Record) -> bool:
    return record.number % 2 == 1


def _while_both(ran: Sequence[Record]) -> int:
    """How many had started when one lane may have been empty but for what the workers had claimed."""
    left = TASKS
    for place, record in enumerate(ran):
        left -= _is_high(record)
        if left == CLAIMED:
            return place
    return len(ran)


def _rate(ran: Sequence[Record]) -> float:
    return (len(ran) - 1) / ((ran[-1].at_ns - ran[0].at_ns) / 1e9)


if __name__ == "__main__":
    run(main)
