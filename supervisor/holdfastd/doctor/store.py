"""The Redis server as a whole: connects to it, and judges everything it reports.

The single judgements are in files of their own, one for each subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import anyio

from holdfast.core.store_info import QueueInfo, StoreInfo
from holdfast.errors import StoreError, StoreRefusedError, StoreUnavailableError
from holdfast.store import open_store
from holdfast_config import RedisSettings
from holdfastd.doctor import queue_health, redis_server
from holdfastd.doctor.finding import Check, Finding

SAMPLE_SECONDS = 1.0  # for which the lanes are watched
LOOK_TIMEOUT = 15.0  # seconds for the whole examination

# `start` checks these too and would refuse to run without them.
NEEDED = frozenset({"rights", "queue", "server", "memory"})

_CONNECTION = Check("redis", "connection")


@dataclass(frozen=True, slots=True)
class Expectation:
    """The demands of these settings on the store.

    `running`: a supervisor on this host already uses the store. `embedded`: the store belongs to that supervisor.
    """

    queue: str
    lease: float
    connections: int
    running: bool
    embedded: bool


def look(redis: RedisSettings, lanes: Sequence[str]) -> StoreInfo | StoreError:
    """The store's report about itself, or the error that prevented it. Ends within LOOK_TIMEOUT."""
    return anyio.run(_examine, redis, lanes, backend_options={"use_uvloop": True})


async def _examine(redis: RedisSettings, lanes: Sequence[str]) -> StoreInfo | StoreError:
    try:
        with anyio.fail_after(LOOK_TIMEOUT):
            async with open_store(redis) as store:
                return await store.examine(lanes, SAMPLE_SECONDS)
    except StoreError as error:
        return error
    except TimeoutError:
        return StoreUnavailableError(f"Redis at {redis.masked_url} does not answer within {LOOK_TIMEOUT:g} s")


def judge(info: StoreInfo | StoreError, expected: Expectation) -> Iterator[Finding]:
    if isinstance(info, StoreError):
        yield _judge_error(info, expected)
        return
    yield _CONNECTION.ok(info.url)
    yield from _judge_server(info)
    if info.clients is not None:
        local = info.url.startswith("unix:")
        yield from redis_server.judge_clients(info.clients, expected.connections, running=expected.running, local=local)
    if info.rights is not None:
        yield from redis_server.judge_rights(info.rights, expected.queue)
    if info.queue is not None:
        yield from queue_health.judge(info.queue, expected.lease)
        yield from queue_health.judge_hosts(info.queue.members)
        yield from _judge_consumers(info, info.queue)
    for part, reason in info.unseen:
        if part != "other clients":  # reported with the queue's consumers
            yield _judge_unseen(part, reason, expected)


def _judge_error(error: StoreError, expected: Expectation) -> Finding:
    if isinstance(error, StoreRefusedError):
        return _CONNECTION.problem(str(error), "set REDIS_USERNAME and REDIS_PASSWORD, or a credential redis_password")
    if expected.embedded and not expected.running:
        return _CONNECTION.note("the embedded store is not running: the supervisor starts it", "supervisor start")
    if expected.embedded:
        return _CONNECTION.problem(str(error), "read server.log in the store's folder below --state-dir")
    return _CONNECTION.problem(str(error), "check that Redis runs and REDIS_URL is right: redis-cli -u URL ping")


def _judge_server(info: StoreInfo) -> Iterator[Finding]:
    if info.server is not None:
        yield from redis_server.judge_server(info.server)
        yield from redis_server.judge_replicas(info.server)
    if info.timing is not None:
        yield from redis_server.judge_timing(info.timing)
    if info.slow is not None:
        yield from redis_server.judge_slow_log(info.slow)
    if info.memory is not None:
        yield from redis_server.judge_memory(info.memory)
        yield from redis_server.judge_fragmentation(info.memory)
    if info.persistence is not None:
        yield from redis_server.judge_persistence(info.persistence)


def _judge_consumers(info: StoreInfo, queue: QueueInfo) -> Iterator[Finding]:
    stolen = queue.counts.counters.get("stolen", 0)
    missing = sum(lane.suspects for lane in queue.lanes)
    yield from redis_server.judge_strangers(info.clients.strangers if info.clients else None, stolen, missing)


def _judge_unseen(part: str, reason: str, expected: Expectation) -> Finding:
    check = Check("redis", part)
    if part in NEEDED:
        return check.problem(reason, redis_server.acl_line("holdfast", expected.queue))
    return check.note(f"cannot be read: {reason}")
