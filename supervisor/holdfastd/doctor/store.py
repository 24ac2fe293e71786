"""The store as a whole: every finding of what it says of itself, or why it says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.core.store_info import QueueInfo, StoreInfo
from holdfast.errors import StoreError, StoreRefusedError
from holdfastd.doctor import clients, durability, queue_health, rights, server
from holdfastd.doctor.finding import Check, Finding

_REACH = Check("redis", "connection")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What we would ask of the store. `running`: a supervisor uses it already; `embedded`: it is that one's own."""

    queue: str
    lease: float
    connections: int
    running: bool
    embedded: bool


def judge_silence(error: StoreError, expected: Expectation) -> Finding:
    """A store that lets nobody in, or is not there."""
    if isinstance(error, StoreRefusedError):
        return _REACH.problem(str(error), "set REDIS_USERNAME and REDIS_PASSWORD, or a credential redis_password")
    if expected.embedded and not expected.running:
        return _REACH.note("the embedded store is not running: it runs with the supervisor", "supervisor start")
    if expected.embedded:
        return _REACH.problem(str(error), "see server.log in the store's folder below --state-dir")
    return _REACH.problem(str(error), "is it running, and is REDIS_URL right? redis-cli -u URL ping")


def judge(facts: StoreInfo, expected: Expectation) -> Iterator[Finding]:
    yield _REACH.ok(facts.url)
    yield from _judge_server(facts)
    if facts.clients is not None:
        local = facts.url.startswith("unix:")
        yield from clients.judge(facts.clients, expected.connections, running=expected.running, local=local)
    if facts.rights is not None:
        yield from rights.judge(facts.rights, expected.queue)
    if facts.queue is not None:
        yield from queue_health.judge(facts.queue, expected.lease)
        yield from _judge_takers(facts, facts.queue)
    for what, why in facts.unseen:
        if what != "other clients":  # told with the queue
            yield _judge_unseen(what, why, expected)


def _judge_server(facts: StoreInfo) -> Iterator[Finding]:
    if facts.server is not None:
        yield from server.judge(facts.server)
    if facts.timing is not None:
        yield from server.judge_timing(facts.timing)
    if facts.memory is not None:
        yield from durability.judge_memory(facts.memory)
    if facts.persistence is not None:
        yield from durability.judge_persistence(facts.persistence)


def _judge_takers(facts: StoreInfo, seen: QueueInfo) -> Iterator[Finding]:
    stolen = seen.counts.counters.get("stolen", 0)
    missing = sum(lane.suspects for lane in seen.lanes)
    yield from clients.judge_strangers(facts.clients.strangers if facts.clients else None, stolen, missing)


NEEDED = frozenset({"rights", "queue", "server", "memory"})  # `start` looks at these as well, and would be refused


def _judge_unseen(what: str, why: str, expected: Expectation) -> Finding:
    look = Check("redis", what)
    if what in NEEDED:
        return look.problem(why, rights.acl_line("holdfast", expected.queue))
    return look.note(f"cannot be seen: {why}")
