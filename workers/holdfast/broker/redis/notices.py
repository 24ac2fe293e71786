"""Who waits for a task is told on its channel when a turn settles."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence

from holdfast.broker.redis.connection import Connection
from holdfast.broker.redis.faults import explained

_SINGLY = 32


async def settled(connection: Connection, task_ids: Sequence[str]) -> AsyncIterator[str]:
    """'' once the subscription stands, then ids of these tasks as turns settle; ends with StoreUnavailableError."""
    wanted, prefix = set(task_ids), connection.keys.done("")
    async with connection.blocking.pubsub() as channel:
        with explained(connection.url):
            if len(wanted) <= _SINGLY:
                await channel.subscribe(*(connection.keys.done(task_id) for task_id in wanted))
            else:
                await channel.psubscribe(re.sub(r"([*?\[\]\\])", r"\\\1", prefix) + "*")
        stands = False
        while True:
            with explained(connection.url):
                notice = await channel.get_message(timeout=None)
            if notice is None:
                continue
            if notice["type"] in {"subscribe", "psubscribe"}:
                if not stands:
                    yield ""
                stands = True
            else:
                task_id = notice["channel"].decode().removeprefix(prefix)
                if task_id in wanted:
                    yield task_id
