"""The producer of one system: `python -m bench.apps.producer huey singly 5000`. It prints one line of JSON.

It runs in the environment of the system, so it imports the standard library and the app of the system alone; uvloop
where the environment has it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

PAYLOAD = "x" * 100
CHUNK = 1000  # tasks that one call for many submits
COROUTINES = 64

Rate = dict[str, float] | None


@dataclass(frozen=True, slots=True)
class Calls:
    """Each submits, with or without await: a no-op, a no-op that says when it was sent, one that sleeps.

    `many` takes a chunk of numbers. `foreign` pushes a timed task as a program of another language does. `typed`
    submits a task with a pydantic model. `opened` is entered before the first call.
    """

    run: Callable[[int], Any]
    timed: Callable[[int], Any]
    sleep: Callable[[int, float], Any]
    many: Callable[[Sequence[int]], Any] | None = None
    foreign: Callable[[int], Any] | None = None
    typed: Callable[[int], Any] | None = None
    opened: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext


async def _each(call: Callable[..., Any], values: Iterable[Any]) -> None:
    if iscoroutinefunction(call):
        for value in values:
            await call(value)
    else:
        for value in values:
            call(value)


async def _once(call: Callable[..., Any], *values: Any) -> None:
    answer = call(*values)
    if asyncio.iscoroutine(answer):
        await answer


async def _singly(calls: Calls, count: int, first: int = 0) -> Rate:
    started = time.perf_counter()
    await _each(calls.run, range(first, first + count))
    return {"rate": count / (time.perf_counter() - started)}


async def _coroutines(calls: Calls, count: int, first: int = 0) -> Rate:
    if not iscoroutinefunction(calls.run):
        return None
    started = time.perf_counter()
    await asyncio.gather(*(_each(calls.run, range(first + at, first + count, COROUTINES)) for at in range(COROUTINES)))
    return {"rate": count / (time.perf_counter() - started)}


async def _bulk(calls: Calls, count: int, first: int = 0) -> Rate:
    if calls.many is None:
        return None
    started, end = time.perf_counter(), first + count
    await _each(calls.many, [range(at, min(end, at + CHUNK)) for at in range(first, end, CHUNK)])
    return {"rate": count / (time.perf_counter() - started)}


async def _paced(call: Callable[[int], Any], count: int, gap: float) -> Rate:
    for _ in range(count):
        started = time.perf_counter()
        await _once(call, time.monotonic_ns())
        await asyncio.sleep(max(0.0, gap - (time.perf_counter() - started)))
    return {"gap": gap}


async def _timed(calls: Calls, count: int, gap: float) -> Rate:
    return await _paced(calls.timed, count, gap)


async def _foreign(calls: Calls, count: int, gap: float) -> Rate:
    return await _paced(calls.foreign, count, gap) if calls.foreign else None


async def _slow(calls: Calls, count: int, seconds: float) -> Rate:
    for number in range(count):
        await _once(calls.sleep, number, seconds)
    return None


async def _typed(calls: Calls, count: int) -> Rate:
    await _each(calls.typed or calls.run, range(count))
    return None


ACTIONS: dict[str, Callable[..., Any]] = {
    "singly": _singly,
    "coroutines": _coroutines,
    "bulk": _bulk,
    "timed": _timed,
    "foreign": _foreign,
    "slow": _slow,
    "typed": _typed,
}


async def _main(app: str, action: str, values: Sequence[str]) -> Rate:
    calls: Calls = importlib.import_module(f"bench.apps.{app}").CALLS
    async with calls.opened():
        return await ACTIONS[action](calls, *map(json.loads, values))


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        return importlib.import_module("uvloop").new_event_loop
    except ImportError:
        return None


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=_loop()) as runner:
        print(json.dumps(runner.run(_main(sys.argv[1], sys.argv[2], sys.argv[3:]))))
