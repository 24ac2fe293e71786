"""Schedules in numbers: how late their fires are, what they cost, that each is made once: `python -m bench.schedules`.

100,000 schedules on a server of its own, two workers under `supervisor start`. First a minute in which nothing is due:
the steward's processor time. Then, several times, a thousand fires due in the same millisecond, as many again spread
over one second, of cron (in a zone with daylight-saving time), intervals and rules alike; how late each was made is in
its history, by the server's clock. Then, on another server, ten stewards as processes race over 10,000 fires.
`--schedules 10000 --idle 10` is a short one.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import anyio
import psutil
import uvloop
from redis import Redis

from bench import schedule_race
from bench.ending import run
from bench.environ import environ
from bench.machine import quietly
from bench.pool import Pool, folder, pool
from bench.producing import managing
from bench.records import records
from bench.report import Target, finish, percentile, table
from bench.schedule_race import Race
from bench.schedule_specs import at_once, far, spread
from bench.server import server
from holdfast import TaskManager
from holdfast.client.schedule_definition import ScheduleSpec

DUE = 1000
ROUNDS = 3
LEAD = 8.0  # seconds from the first of a thousand being set until they are due
SETTLING = 20.0  # seconds until the boot is over
PATIENCE = 60.0  # seconds
COLUMNS = ("ms late", "p50", "p90", "p99", "max")


@dataclass(frozen=True, slots=True)
class Lateness:
    """Milliseconds by which fires came after their moment."""

    once: list[int]
    spread: list[int]


@dataclass(frozen=True, slots=True)
class Measured:
    """`idle`: percent of a processor; `memory`: bytes of the server per schedule; `stored`: schedules a second."""

    idle: float
    memory: float
    stored: float
    late: Lateness
    race: Race


def main() -> int:
    asked = _arguments()
    found, others = quietly(lambda: _measure(asked.schedules, asked.idle))
    rows = [_row("all at once", found.late.once), _row("over one second", found.late.spread)]
    table(f"{ROUNDS} times {DUE:,} of {asked.schedules:,} schedules due; others: {others:.2f} cores", COLUMNS, rows)
    race = found.race
    table(
        f"{race.stewards} stewards over {race.fires:,} fires",
        ("tasks", "fired twice or never", "seconds", "server us per fire"),
        [(race.tasks, race.wrong, race.seconds, race.server_us)],
    )
    print(f"{found.stored:,.0f} schedules stored a second, {found.memory:,.0f} bytes of the server each")
    targets = [
        Target("p99 lateness, all at once, ms", percentile(found.late.once, 0.99), 100),
        Target("p99 lateness, over one second, ms", percentile(found.late.spread, 0.99), 100),
        Target("CPU of the steward while nothing is due, %", found.idle, 1.0),
        Target("fires of the race that were not made exactly once", race.wrong + abs(race.tasks - race.fires), 1),
    ]
    numbers = {
        "once_ms": _shares(found.late.once),
        "spread_ms": _shares(found.late.spread),
        "idle_percent": round(found.idle, 3),
        "bytes": round(found.memory),
        "stored_per_second": round(found.stored),
        "race_seconds": round(race.seconds, 2),
        "server_us_per_fire": round(race.server_us, 1),
        "others": round(others, 2),
    }
    return finish(targets, numbers)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--idle", type=float, default=60.0, metavar="SECONDS")
    return parser.parse_args()


def _shares(values: list[int]) -> list[float]:
    return [percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)]


def _row(name: str, values: list[int]) -> tuple[object, ...]:
    return (name, *(int(value) for value in _shares(values)))


def _measure(schedules: int, idle: float) -> Measured:
    with folder() as place, server(place) as url, records() as seen, Redis(unix_socket_path=_path(url)) as plain:
        empty = _memory(plain)
        began = time.monotonic()
        uvloop.run(_store(url, {f"far-{number}": far(number) for number in range(schedules)}))
        stored = schedules / (time.monotonic() - began)
        memory = (_memory(plain) - empty) / schedules
        with pool("bench.handlers:noop", 2, place, environ(seen), "--redis-url", url) as running:
            time.sleep(SETTLING)
            used = _idle(running, idle)
            late = uvloop.run(_lateness(url))
    with folder() as place:
        return Measured(used, memory, stored, late, schedule_race.race(place))


def _path(url: str) -> str:
    return url.removeprefix("unix://")


def _memory(plain: Any) -> int:
    used: int = plain.info("memory")["used_memory"]
    return used


def _idle(running: Pool, seconds: float) -> float:
    """Percent of a processor that the steward uses."""
    pid = next(process.pid for process in running.status().processes if process.kind == "steward")
    before = sum(psutil.Process(pid).cpu_times()[:2])
    time.sleep(seconds)
    return (sum(psutil.Process(pid).cpu_times()[:2]) - before) / seconds * 100


async def _store(url: str, specs: dict[str, ScheduleSpec]) -> None:
    async with managing(url) as manager:
        await manager.schedules.put_all(specs)


async def _lateness(url: str) -> Lateness:
    async with managing(url) as manager:
        once = [late for nth in range(ROUNDS) for late in await _fires(manager, f"once-{nth}", at_once)]
        wide = [late for nth in range(ROUNDS) for late in await _fires(manager, f"spread-{nth}", spread)]
    return Lateness(once, wide)


async def _fires(manager: TaskManager, name: str, spec: Any) -> list[int]:
    moment = round(time.time() + LEAD)
    specs = {f"{name}-{number}": spec(number, moment) for number in range(DUE)}
    await manager.schedules.put_all(specs)
    assert time.time() < moment - 1, "these came too late to measure"
    await anyio.sleep(moment + 2 - time.time())
    return [await _late(manager, schedule_id) for schedule_id in specs]


async def _late(manager: TaskManager, schedule_id: str) -> int:
    with anyio.fail_after(PATIENCE):
        while True:
            lines = await manager.schedules.history(schedule_id)
            for line in lines:
                if line.what == "fired" and line.scheduled_at is not None:
                    return line.at - line.scheduled_at
            await anyio.sleep(0.05)


if __name__ == "__main__":
    run(main)
