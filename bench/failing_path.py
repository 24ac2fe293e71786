"""`python -m bench.failing_path`: the cost of the kind of error on the path of a run that fails.

Prints microseconds for each settlement: of the worker (its own work), and of the server (inside one call of `pull` with
100 settlements). Each with the text of the kind and without it, in turns, in one run.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.error_kinds import kind_text
from holdfast.core.outcomes import Raised
from holdfast.core.settle import RetryPolicy, settlement
from holdfast.handler.failures import outcome_of_error
from tests.lua.namespace import namespace
from tests.servers import valkey

ROUNDS, TASKS = 40, 100


def of_worker() -> None:
    error = _raised()
    begun = time.perf_counter()
    for _ in range(1000):
        outcome = outcome_of_error(error)
    text = (time.perf_counter() - begun) * 1000
    assert isinstance(outcome, Raised)
    delivery = Delivery("t", "1:a:1", "q", b"{}", 1, 1, 0, 0, 3, None, False)
    times = [_per_call(lambda: settlement(outcome, delivery, RetryPolicy(), 0.5)) for _ in range(ROUNDS)]
    kinds = [_per_call(lambda: kind_text(outcome.failure)) for _ in range(ROUNDS)]
    print(f"worker: traceback {text:.1f} us, settlement {statistics.median(times):.1f} us, of which its kind "
          f"{statistics.median(kinds):.1f} us")  # fmt: skip


def _per_call(call: object) -> float:
    assert callable(call)
    begun = time.perf_counter()
    for _ in range(200):
        call()
    return (time.perf_counter() - begun) / 200 * 1e6


def _raised() -> Exception:
    def inner(left: int) -> None:
        if left:
            inner(left - 1)
        raise LookupError("no customer 4711 in 'eu-west-1'")

    try:
        inner(8)
    except LookupError as error:
        return error
    raise AssertionError


async def of_server(url: str) -> None:
    found: dict[str, list[float]] = {"": [], "LookupError\nshop.tasks:charge\nno customer # in …": []}
    async with namespace(url) as space:
        await space.register("a")
        for number in range(2 * ROUNDS):
            error = list(found)[number % 2]
            ids = [f"t{number}-{at}" for at in range(TASKS)]
            for task_id in ids:
                await space.submit(task_id, name="pay")
            taken = await space.take("a", TASKS)
            made = [
                Settlement(each.task_id, each.claim, Settle.EXHAUSTED, b"{}", reason="why", error=error)
                for each in taken
            ]
            await space.do("CONFIG", "RESETSTAT")
            await space.pull("a", 0, *made)
            stats = dict(await space.do("INFO", "commandstats"))["cmdstat_evalsha"]
            found[error].append(float(stats["usec"]) / TASKS)
    without, with_kind = (statistics.median(times) for times in found.values())
    print(f"server: {without:.1f} us without a kind, {with_kind:.1f} us with it, for each task that failed for good")


def main() -> None:
    of_worker()
    with TemporaryDirectory(prefix="holdfast-") as folder, valkey(Path(folder)) as url:
        uvloop.run(of_server(url))


main()
