"""`python -m tests.chaos --seconds 60 --seed 1`: its last line is the ledger, its exit status 1 on any breach."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
from redis.exceptions import RedisError

from holdfast.core.words import duration
from holdfastd.cli.common.work_progress import PERIOD
from tests.chaos import ledger, report
from tests.chaos.nemesis import FAULTS, SERVER
from tests.chaos.play import Plan, play_once
from tests.chaos.servers import OccupiedError, address


@asynccontextmanager
async def shown(name: str, seconds: float) -> AsyncGenerator[None]:
    """Tell on standard error how far a play is; after its time the rest of the tasks end, and everything is checked."""
    began = anyio.current_time()

    async def tell() -> None:
        while True:
            await anyio.sleep(PERIOD)
            played = anyio.current_time() - began
            left = f"{duration(seconds - played)} left" if played < seconds else "the rest is awaited and checked"
            print(f"{name}: {min(played, seconds):.0f} of {seconds:.0f} s played, {left}", file=sys.stderr, flush=True)

    async with anyio.create_task_group() as group:
        group.start_soon(tell)
        yield
        group.cancel_scope.cancel()


async def main(plans: list[Plan], folder: Path | None) -> bool:
    outcomes = []
    for plan in plans:
        async with shown(f"seed {plan.seed}", plan.seconds):
            outcome = await play_once(plan)
        outcomes.append(outcome)
        print(ledger.line(outcome), flush=True)
        for breach in outcome.breaches[:20]:
            print(f"  {breach}", flush=True)
        if folder is not None:
            report.write(folder, outcome)
    print(*ledger.recoveries(outcomes), sep="\n")
    print(ledger.total(outcomes))
    return not any(outcome.breaches for outcome in outcomes)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Play faults, and check the histories.")
    parser.add_argument(
        "--seconds", type=_positive(float), default=60.0, help="how long clients and nemesis play, for each seed"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=_positive(int), default=1, help="so many plays, with the seeds from --seed on")
    parser.add_argument("--workers", type=_positive(int), default=4, help="on each of two hosts with several lanes")
    parser.add_argument("--rate", type=_positive(float), default=25.0, help="tasks a second")
    parser.add_argument("--faults", nargs="+", choices=list(FAULTS), metavar="NAME", help="those to play; else all")
    parser.add_argument(
        "--report", type=Path, metavar="FOLDER", help="where to write a page and a JSON file for each play"
    )
    parser.add_argument(
        "--redis-url",
        default="",
        metavar="URL",
        help="play on this server, unix:// or redis://, and not on one of its own",
    )
    return _fitting(parser, parser.parse_args())


def _positive(number: type[int] | type[float]) -> Callable[[str], float]:
    def positive(text: str) -> float:
        if not 0 < (value := number(text)) < math.inf:
            raise ValueError
        return value

    positive.__name__ = f"positive {number.__name__}"  # argparse names it when it refuses
    return positive


def _fitting(parser: argparse.ArgumentParser, given: argparse.Namespace) -> argparse.Namespace:
    """With a lent server nothing is played that strikes the server itself."""
    if given.redis_url:
        try:
            address(given.redis_url)
        except ValueError as error:
            parser.error(f"argument --redis-url: {error}; give unix:///path or redis://host:port/db")
        struck = sorted(SERVER.keys() & set(given.faults or ()))
        if struck:
            parser.error(
                f"argument --faults: {', '.join(struck)} would strike whoever uses a lent server; leave it out"
            )
        given.faults = given.faults or [name for name in FAULTS if name not in SERVER]
    given.faults = given.faults or list(FAULTS)
    return given


if __name__ == "__main__":
    given = arguments()
    plans = [
        Plan(
            given.seconds,
            seed,
            given.workers,
            rate=given.rate,
            faults=tuple(given.faults),
            redis_url=given.redis_url,
        )
        for seed in range(given.seed, given.seed + given.seeds)
    ]
    try:
        sys.exit(not anyio.run(partial(main, plans, given.report)))
    except (OccupiedError, RedisError) as error:
        sys.exit(f"chaos: {error}")
