"""A process that ends itself at a kill point: `python -m tests.ledger.crashing WHAT redis postgres queue ids…`.

WHAT is `submit`, `cancel` (a producer's), `set`, `pause`, `remove` (of a schedule), `close` (of the lane), or `keep` (a
steward's rounds, until all is done).
"""

from __future__ import annotations

import os
import signal
import sys

import anyio

from holdfast_config.kill_spec import VARIABLE, Point
from tests.forked import popen
from tests.ledger.server import Server

DATABASE = "tasks"


def crash(point: Point, what: str, redis_url: str, postgres: Server, queue: str, *ids: str, nth: int = 1) -> None:
    """Run it until it has killed itself there, and PostgreSQL has released what its transactions had locked."""
    before = _sessions(postgres)
    words = [what, redis_url, postgres.url(DATABASE), queue, *ids]
    process = popen("tests.ledger.crashing", words, env={**os.environ, VARIABLE: f"{point}:{nth}"})
    try:
        assert process.wait(60) == -signal.SIGKILL, f"it did not come by {point}"
    finally:
        process.kill()
    # A dead client's session ends when PostgreSQL notices; until then other rounds pass over the rows that it locked.
    while not _sessions(postgres) <= before:
        pass


def _sessions(postgres: Server) -> set[str]:
    listed = f"SELECT pid FROM pg_stat_activity WHERE datname = '{DATABASE}'"
    return set(postgres.statement(listed).splitlines())


async def _main(what: str, redis_url: str, postgres_url: str, queue: str, *ids: str) -> None:
    from holdfast.client.schedules import Schedules
    from tests.ledger.ledger import ledger

    async with ledger(redis_url, postgres_url, queue) as books:
        if what == "submit":
            await books.submit(*ids)
        elif what == "cancel":
            await books.store.cancel(ids[0], "enough")
        elif what == "set":
            await Schedules(books.store, queue).upsert(ids[0], every="1m", text="go")
        elif what == "pause":
            await Schedules(books.store, queue).pause(ids[0], "enough")
        elif what == "remove":
            await Schedules(books.store, queue).remove(ids[0])
        elif what == "close":
            await books.store.pause_lane(queue, "closed")
        else:
            await books.keep()


if __name__ == "__main__":
    anyio.run(_main, *sys.argv[1:])
