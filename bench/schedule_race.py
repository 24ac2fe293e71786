"""Stewards that race: each process fires what is due, as fast as it can, over the same schedules."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop
from redis import Redis

from bench.producing import QUEUE, managing
from bench.server import server
from bench.work import text
from holdfast import open_store
from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.client.schedule_fire import ScheduleFirer
from holdfast_config import RedisSettings

STEWARDS = 10
FIRES = 10_000
LEAD = 20.0  # seconds until they are due: all are stored then, and every steward waits
PATIENCE = 120.0  # seconds
_T = f"{{{QUEUE}}}:"


@dataclass(frozen=True, slots=True)
class Race:
    """`wrong`: schedules whose fire was not made exactly once; `server_us`: processor time of the server per fire."""

    stewards: int
    fires: int
    tasks: int
    wrong: int
    seconds: float
    server_us: float


def race(place: Path) -> Race:
    with server(place) as url, Redis(unix_socket_path=url.removeprefix("unix://")) as plain:
        due = time.time() + LEAD
        uvloop.run(_store(url, due))
        assert time.time() < due - 3, "they were not stored in time"
        context = multiprocessing.get_context("spawn")
        stewards = [context.Process(target=_steward, args=(url, due)) for _ in range(STEWARDS)]
        for steward in stewards:
            steward.start()
        time.sleep(max(0.0, due - 0.5 - time.time()))
        before = _processor_us(plain)
        for steward in stewards:
            steward.join(PATIENCE)
        seconds = max(_fired(plain)) / 1000 - due
        spent = _processor_us(plain) - before
        return Race(STEWARDS, FIRES, _tasks(plain), _wrong(plain), seconds, spent / FIRES)


async def _store(url: str, due: float) -> None:
    async with managing(url) as manager:
        await manager.schedules.put_all(
            {f"race-{number}": ScheduleSpec(at=due, text=text(number)) for number in range(FIRES)}
        )


def _steward(url: str, due: float) -> None:
    uvloop.run(_fire(url, due))


async def _fire(url: str, due: float) -> None:
    async with open_store(RedisSettings(url, 4, QUEUE)) as store:
        firing = ScheduleFirer(store, QUEUE, 1 << 20)
        while (rest := due - time.time()) > 0:
            await store.wait_fires(rest)
        while await firing.round() is not None:
            pass


def _processor_us(plain: Any) -> float:
    """Microseconds of a processor that the server has used: other work on the machine does not change them."""
    spent: dict[str, float] = plain.info("cpu")
    return (spent["used_cpu_user"] + spent["used_cpu_sys"]) * 1e6


def _tasks(plain: Any) -> int:
    """Of any state: each has its operation."""
    return sum(1 for _ in plain.scan_iter(f"{_T}op:*", count=5000))


def _fired(plain: Any) -> list[int]:
    """When each fire was made."""
    return [int(line.split(b"|")[0]) for lines in _histories(plain) for line in lines if b"|fired|" in line]


def _wrong(plain: Any) -> int:
    return sum(sum(b"|fired|" in line for line in lines) != 1 for lines in _histories(plain))


def _histories(plain: Any) -> list[list[bytes]]:
    pipe = plain.pipeline(transaction=False)
    for number in range(FIRES):
        pipe.lrange(f"{_T}fires:race-{number}", 0, -1)
    fires: list[list[bytes]] = pipe.execute()
    return fires
