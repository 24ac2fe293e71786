"""A pool drains thousands of tasks while random workers are killed with -9; then the books are made up.

    python -m tests.faults.kills --tasks 10000 --seeds 10 --every 0.5

One line a seed, a total, and 1 as exit status if anything is missing or was committed twice.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import redis

from holdfast.core.rollup import MINUTE, sum_of
from holdfast.core.statistics import in_all
from tests.faults import ledger
from tests.faults.scene import PATIENT, Event, Scene, stage
from tests.faults.work import QUEUE, submission

BATCH = 500
AT_LEAST = 0.02  # seconds in which news are waited for
STALLED = 60.0  # seconds without a task that settles
LEAST, MOST = 0.005, 0.05  # seconds a task works, if it is not one of the quick
QUICK = 0.2
A_WHILE = 1.5  # seconds
TAIL = 50  # tasks


@dataclass(frozen=True, slots=True)
class Ledger:
    """`commits`: settled turns; `doubled`: turns settled more than once; `again`: deliveries beyond one a task;
    `recovered`: deliveries put back, by the events; `counted`, `timed`: completed deliveries and recoveries, by the
    rollups."""

    accepted: int
    completed: int
    counted: int
    commits: int
    doubled: int
    lost: int
    kills: int
    crashes: int
    recovered: int
    timed: int
    again: int
    seconds: float

    @property
    def balances(self) -> bool:
        is_whole = self.accepted == self.completed == self.counted == self.commits
        return is_whole and self.recovered == self.timed and not (self.doubled or self.lost)

    def __str__(self) -> str:
        return " ".join(f"{name}={value:g}" for name, value in asdict(self).items())


async def drain_under_kills(
    folder: Path, tasks: int, seed: int, every: float, workers: int = 8, kinds: Sequence[str] = ("worker",)
) -> Ledger:
    """Submit, kill a child of these kinds every `every` seconds until all tasks have ended, and count."""
    chance = random.Random(seed)
    async with stage(folder, embedded=True, workers=workers, concurrency=4) as scene:
        began = time.monotonic()
        ids = [f"t{number}" for number in range(tasks)]
        for start in range(0, tasks, BATCH):
            await scene.store.submit([submission(each, _work(chance)) for each in ids[start : start + BATCH]])
        kills = Killer(scene, chance, kinds).until_drained(set(ids), every)
        return await _count(scene, kills, time.monotonic() - began)


def _work(chance: random.Random) -> str:
    return "quick" if chance.random() < QUICK else f"sleep {chance.uniform(LEAST, MOST):.4f}"


@dataclass(frozen=True, slots=True)
class Killer:
    scene: Scene
    chance: random.Random
    kinds: Sequence[str]

    def until_drained(self, missing: set[str], every: float) -> int:
        """Kill until nearly all of these have settled, or nothing settles any more; how many were killed.

        A kill waits until something has settled since the one before: on a slow machine nothing else would be done than
        to start workers. In the tail most workers have nothing to settle: killed as well, they would be a crash loop to
        the breaker.
        """
        kills, due, settled_at, progress = 0, time.monotonic() + every, time.monotonic(), True
        while missing and (now := time.monotonic()) < settled_at + STALLED:
            if now >= due and progress:
                due, progress = now + every, False
                kills += len(missing) > TAIL and self._kill_one()
            settled = {e["id"] for e in self._news(max(AT_LEAST, due - now)) if e["event"] == "settled"}
            if missing & settled:
                missing -= settled
                settled_at, progress = now, True
        return kills

    def _kill_one(self) -> bool:
        """Any living worker, whether it is ready or not; of the others one that has lived a while, or nobody works."""
        processes = self.scene.pool.status().processes
        living = [p.pid for p in processes if p.kind in self.kinds and (p.kind == "worker" or p.uptime > A_WHILE)]
        if not living:
            return False
        with suppress(ProcessLookupError):
            os.kill(self.chance.choice(living), signal.SIGKILL)
        return True

    def _news(self, within: float) -> list[Event]:
        try:
            return self.scene.news(within)
        except redis.ConnectionError:  # the store was the one
            return []


async def _count(scene: Scene, kills: int, seconds: float) -> Ledger:
    snapshot = await PATIENT.call(scene.store.snapshot)
    records = ledger.of_kind(snapshot, f"{{{QUEUE}}}:task:")
    accepted = int(ledger.content(snapshot, f"{{{QUEUE}}}:counters")["accepted"])
    now = await scene.store.clock_ms()
    rollups = in_all(sum_of((await scene.store.minutes(now - 8 * 60 * MINUTE, now + MINUTE)).values()))
    commits = Counter((e["id"], e["detail"].split(" ")[1]) for e in scene.heard("settled"))
    return Ledger(
        accepted=accepted,
        completed=sum(record["state"] == "completed" for record in records.values()),
        counted=rollups.outcomes["completed"],
        commits=commits.total(),
        doubled=sum(times > 1 for times in commits.values()),
        lost=accepted - len(records),
        kills=kills,
        crashes=sum(int(record.get("crashes", 0)) for record in records.values()),
        recovered=len(scene.heard("recovered")) + len(scene.heard("crashed")),
        timed=rollups.recovery.count,
        again=sum(max(0, int(record.get("delivery", 0)) - 1) for record in records.values()),
        seconds=round(seconds, 1),
    )


async def main(tasks: int, seeds: int, every: float, workers: int, kinds: Sequence[str]) -> bool:
    ledgers: list[Ledger] = []
    for seed in range(1, seeds + 1):
        with TemporaryDirectory(prefix="holdfast-") as folder:
            ledgers.append(await drain_under_kills(Path(folder), tasks, seed, every, workers, kinds))
        print(f"seed {seed}: {ledgers[-1]}{'' if ledgers[-1].balances else '  DOES NOT BALANCE'}", flush=True)
    total = Ledger(*(sum(column) for column in zip(*(asdict(each).values() for each in ledgers), strict=True)))
    balanced = all(each.balances for each in ledgers) and total.accepted == tasks * seeds
    print(f"total of {seeds} seeds: {total}{'' if balanced else '  DOES NOT BALANCE'}")
    return balanced


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two kills")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--kinds", nargs="+", default=["worker"], choices=["worker", "steward", "store"])
    given = parser.parse_args()
    sys.exit(not anyio.run(main, given.tasks, given.seeds, given.every, given.workers, given.kinds))
