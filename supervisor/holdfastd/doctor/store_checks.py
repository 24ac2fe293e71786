"""Checks the store and the queue in it: whether the store answers and can be used, and whether something is wrong with
the queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio

from holdfast.core.counts import Counts
from holdfast.core.lanes import LaneState, wrong_end_mend, wrong_end_words
from holdfast.core.quiet_hosts import Quiet, remedy
from holdfast.core.store_info import LaneInfo, QueueInfo, StoreInfo, WorkerInfo
from holdfast.core.task_states import State
from holdfast.core.words import counted, some
from holdfast.errors import StoreError, StoreRefusedError, StoreUnavailableError
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from holdfastd.doctor import redis_server
from holdfastd.doctor.finding import Check, Finding

T = TypeVar("T")

LONG_WAIT = 300.0  # seconds: a task that waits longer is reported
LOSS_SHOWN = 86400.0  # seconds after which a loss of data is no longer reported
SETTLED = 3  # heartbeats of a worker; by then a steward has renewed its lease
VOUCHED_WITHIN = 30.0  # seconds within which a living steward has surely renewed the leases of its workers

_SCHEMA = Check("queue", "schema")
_EPOCH = Check("queue", "data")
_WAITING = Check("queue", "waiting tasks")
_DEAD = Check("queue", "dead letters")
_UNREADABLE = Check("queue", "unreadable entries")
_WORKERS = Check("queue", "workers of all hosts")
_STEWARDS = Check("queue", "stewards")


def judge_queue(queue: QueueInfo, lease: float) -> Iterator[Finding]:
    """Judge the queue. `lease`: seconds without a heartbeat after which a worker counts as lost."""
    if queue.schema not in (None, queue.our_schema):
        text = f"the keys of the queue have schema {queue.schema}; this version needs {queue.our_schema}"
        yield _SCHEMA.problem(text, "run the version of Holdfast that wrote it, or use another --queue-name")
    else:
        yield _SCHEMA.ok(queue.schema or "none yet: the queue is new")
    yield _judge_epoch(queue)
    yield from _judge_waiting(queue)
    yield from _judge_set_aside(queue.counts)
    yield from _judge_members(queue.members, queue.counts.workers, lease)
    observed = {state.name: wrong_end_words(state, queue.now_ms) for state in queue.states}
    for lane in queue.lanes:
        yield from judge_lane(lane, observed.pop(lane.name, ""))
    for state in queue.states:
        if words := observed.get(state.name):  # a lane that this command has not watched
            turned = bool(state.end.value)
            info = LaneInfo(state.name, "list", state.waiting, pushed_at_head=False, suspects=0, turned=turned)
            yield from judge_lane(info, words)
    for state in queue.states:
        yield from _judge_pause(state, queue.now_ms)
        yield from _judge_service(state)
    for order in queue.quiet:
        yield _judge_quiet(order, queue.now_ms)
    for schedule in queue.undeclared:
        owner = f"of application {schedule.owner} " if schedule.owner else ""
        text = f"code has declared this schedule, but no live worker {owner}declares it any more; it still fires"
        yield Check("queue", f"schedule {schedule.schedule_id}").warning(text, schedule.remedy)


def _judge_epoch(queue: QueueInfo) -> Finding:
    """Report a loss of all data that a steward has noticed. The present tasks do not show such a loss."""
    ago = None if queue.emptied_ms is None else (queue.now_ms - queue.emptied_ms) / 1000
    if ago is None or ago > LOSS_SHOWN:
        return _EPOCH.ok("no steward has noticed a loss of data")
    text = f"Redis came back empty {ago:.0f} s ago: its tasks are lost ({counted(queue.lost, 'task')} known)"
    return _EPOCH.problem(
        text, "have producers submit again the tasks that they still know; set appendonly yes in redis.conf"
    )


def _judge_waiting(queue: QueueInfo) -> Iterator[Finding]:
    counts = queue.counts
    waiting = max(counts.states.get(State.SUBMITTED, 0), sum(counts.lanes.values()))
    if not waiting:
        yield _WAITING.ok("none")
        return
    age = 0.0 if counts.oldest_ms is None else (queue.now_ms - counts.oldest_ms) / 1000
    text = f"{waiting}, the oldest for {age:.0f} s" if age else f"{waiting}"
    late = [
        lane for lane in queue.states if _could_run(lane) and queue.now_ms - (lane.oldest_ms or 0) > LONG_WAIT * 1000
    ]
    if not counts.workers:
        yield _WAITING.problem(f"{text}, but no worker runs", "supervisor start")
    elif late:
        lane = min(late, key=lambda each: each.oldest_ms or 0)
        oldest = (queue.now_ms - (lane.oldest_ms or 0)) / 1000
        text = f"{counted(lane.waiting, 'task waits', 'tasks wait')} in lane {lane.name}, the oldest for {oldest:.0f} s"
        others = f"; so do tasks in {counted(len(late) - 1, 'other lane')}" if late[1:] else ""
        yield _WAITING.warning(f"{text}{others}", _mend_of_wait(lane, queue.quiet))
    else:
        yield _WAITING.ok(text)


def _could_run(lane: LaneState) -> bool:
    """True if the lane is not paused, and live workers serve it and have the handler of a waiting task. Then a long
    wait means a limit, a quiet host or too few workers. Other findings report the other causes."""
    is_served = lane.workers and not lane.is_paused and lane.waiting > sum(lane.missing.values())
    return bool(is_served) and lane.oldest_ms is not None


def _mend_of_wait(lane: LaneState, quiet: Sequence[Quiet]) -> str:
    """The advice for tasks that wait too long, by its cause: an order to claim nothing, a limit, or too few workers."""
    orders = [order for order in quiet if order.is_all]
    if orders:
        return remedy(orders[0])
    if lane.closed == "limit":
        limit = f"the lane is at its limit of running tasks, {lane.limit.value}"
        return f"{limit}: supervisor lanes set {lane.name} --running N"
    if lane.closed == "rate":
        return f"the lane is at its rate: supervisor lanes set {lane.name} --rate N/s"
    if lane.held >= lane.waiting:
        return f"its tasks wait for the limit of a key or the rate of a handler: supervisor lanes set {lane.name}"
    return "run more workers (supervisor scale N), or raise --concurrency"


def _judge_pause(lane: LaneState, now_ms: int) -> Iterator[Finding]:
    if lane.paused_since_ms is None:
        return
    ago = max(0, now_ms - lane.paused_since_ms) / 1000
    text = f"paused for {ago:.0f} s: {lane.paused_because}; {counted(lane.waiting, 'task waits', 'tasks wait')} in it"
    yield Check("queue", f"pause of lane {lane.name}").warning(text, f"supervisor lanes resume {lane.name}")


def _judge_service(lane: LaneState) -> Iterator[Finding]:
    """Report tasks that wait in a lane that no live worker serves, or for a handler that no live worker has."""
    check = Check("queue", f"workers of lane {lane.name}")
    if lane.waiting and not lane.workers:
        text = f"no live worker serves the lane, and {counted(lane.waiting, 'task waits', 'tasks wait')} in it"
        yield check.problem(text, f"supervisor start --lanes {lane.name}, or add it to --lanes of a running supervisor")
        return
    for name, count in lane.missing.items():
        wanted = f"handler {name}" if name else "a default handler"
        tasks = counted(count, "task waits", "tasks wait")
        text = f"none of its {counted(lane.workers, 'live worker')} has {wanted}; {tasks} for it"
        yield Check("queue", f"{wanted} in lane {lane.name}").problem(
            text, "start workers that have this handler: the tasks fail after --unknown-handler-timeout"
        )
    if lane.workers:
        kinds = dict.fromkeys("in order" if each.weight is None else str(each.weight) for each in lane.served)
        weights = f", weight {' or '.join(kinds)}" if kinds else ""
        yield check.ok(f"served by {counted(lane.workers, 'live worker')}{weights}")


def _judge_quiet(order: Quiet, now_ms: int) -> Finding:
    ago = max(0, now_ms - order.since_ms) / 1000
    hosts = "all hosts" if order.is_all else f"host {order.host}"
    named = "hosts" if order.is_all else hosts
    word, rule = ("halted", "no claims, no fires of schedules") if order.is_halt else ("quiet", "no claims")
    text = f"{hosts} {word} for {ago:.0f} s ({rule}), {order.ordered}"
    return Check("queue", f"{word} {named}").warning(text, remedy(order))


def _judge_set_aside(counts: Counts) -> Iterator[Finding]:
    if counts.dead:
        text = f"{counted(counts.dead, 'task has', 'tasks have')} failed for good"
        yield _DEAD.warning(text, "supervisor dead list shows why; supervisor dead retry runs them again")
    else:
        yield _DEAD.ok("none")
    if counts.unreadable:
        kinds = ("entry was not a valid task and was", "entries were not valid tasks and were")
        text = f"{counted(counts.unreadable, *kinds)} set aside"
        yield _UNREADABLE.warning(text, "supervisor queue unreadable shows them and why; correct their producer")
    else:
        yield _UNREADABLE.ok("none")


def _judge_members(members: Sequence[WorkerInfo], count: int, lease: float) -> Iterator[Finding]:
    if not members:
        yield _WORKERS.note("none is registered", "supervisor start")
        return
    silent = [member for member in members if member.beat_ago_ms > lease * 1000]
    if silent:
        longest = silent[0]
        text = (
            f"the lease of {len(silent)} of {count} has expired; the longest without a heartbeat: "
            f"{longest.beat_ago_ms / 1000:.0f} s, on {longest.host}"
        )
        yield _WORKERS.warning(text, "a steward puts their tasks back: check that a supervisor runs on some host")
    else:
        yield _WORKERS.ok(f"{count}, each with a heartbeat within its lease")
    yield from _judge_stewards(members)


def _judge_stewards(members: Sequence[WorkerInfo]) -> Iterator[Finding]:
    hosts = {member.host for member in members if member.beats >= SETTLED and not _is_vouched(member)}
    if hosts:
        text = f"no live steward renews the leases of workers on {', '.join(sorted(hosts))}"
        yield _STEWARDS.warning(text, "run supervisor status on that host: its steward must live and reach Redis")
    else:
        yield _STEWARDS.ok("every worker has a live steward")


def _is_vouched(member: WorkerInfo) -> bool:
    return member.vouched_ago_ms is not None and member.vouched_ago_ms <= VOUCHED_WITHIN * 1000


def judge_lane(lane: LaneInfo, observed: str = "") -> Iterator[Finding]:
    """Judge the type of a lane's key, and the end of the list at which producers push.

    This command sees a push only if it happens while it watches the lane. Stewards watch all the time: `observed` is
    their report.
    """
    check = Check("queue", f"lane {lane.name}")
    if lane.kind not in ("list", "none"):
        text = f"the key is a {lane.kind}, but a lane must be a list"
        yield check.problem(text, f"rename the key (RENAME {lane.name} …), or give the lane another name")
    elif lane.pushed_at_head or observed:
        end, wrong = ("tail", "RPUSH") if lane.turned else ("head", "LPUSH")
        text = f"a producer pushes at its {end} ({wrong}): new tasks overtake old ones, which may wait for ever"
        yield check.warning(f"{text}; {observed}" if observed else text, wrong_end_mend(lane.name, turned=lane.turned))
    else:
        yield check.ok(f"{counted(lane.length, 'entry', 'entries')}; no producer pushes at the wrong end")


# Compares the hosts of a queue: their clocks, and their versions of Holdfast.

APART_MS = 1000
SHOWN = 5

_CLOCKS = Check("hosts", "clocks")
_VERSIONS = Check("hosts", "versions")


def judge_hosts(members: Sequence[WorkerInfo]) -> Iterator[Finding]:
    """Judge the clocks and versions of the hosts. Stewards have reported them when they renewed these workers'
    leases."""
    yield from _judge_clocks({each.host: each.clock_ahead_ms for each in members if each.clock_ahead_ms is not None})
    yield from _judge_versions(members)


def _judge_clocks(ahead: dict[str, int]) -> Iterator[Finding]:
    if not ahead:
        return
    first, last = min(ahead, key=ahead.__getitem__), max(ahead, key=ahead.__getitem__)
    apart = ahead[last] - ahead[first]
    if apart > APART_MS:
        text = f"the clock of {last} is {apart / 1000:.1f} s ahead of that of {first}"
        harm = "their logs and traces do not fit together, and dates that producers compute are wrong"
        yield _CLOCKS.warning(f"{text}: {harm}", "run NTP on both: timedatectl set-ntp true")
    else:
        yield _CLOCKS.ok(f"{', '.join(sorted(ahead)[:SHOWN])}: at most {apart} ms apart")


def _judge_versions(members: Sequence[WorkerInfo]) -> Iterator[Finding]:
    hosts: dict[str, set[str]] = {}
    for member in members:
        if member.version:
            hosts.setdefault(member.version, set()).add(member.host)
    if len(hosts) > 1:
        text = "; ".join(f"{version} on {some(sorted(hosts[version]), SHOWN)}" for version in sorted(hosts))
        fix = "this is allowed during an upgrade; end it by restarting the hosts with the earlier version"
        yield _VERSIONS.warning(text, fix)
    elif hosts:
        [(version, names)] = hosts.items()
        yield _VERSIONS.ok(f"{version} on {some(sorted(names), SHOWN)}")


# Connects to the Redis server, and judges everything that it reports. The module `redis_server` judges the server by
# itself.

SAMPLE_SECONDS = 1.0  # seconds for which the lanes are watched
LOOK_TIMEOUT = 15.0  # seconds for all requests to the server together

# `start` checks these parts, too, and refuses to run if it cannot read them.
NEEDED = frozenset({"rights", "queue", "server"})

_CONNECTION = Check("redis", "connection")


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expectations of these settings for the store. `connections`: the most that Holdfast opens.

    `running`: a supervisor on this host already uses the store. `embedded`: the supervisor runs the store itself.
    """

    queue: str
    lease: float
    connections: int
    running: bool
    embedded: bool


def look(redis: RedisSettings, lanes: Sequence[str]) -> StoreInfo | StoreError:
    """All values of the store that the checks need, or the error because of which they could not be read."""
    return asked(redis, lambda store: store.examine(lanes, SAMPLE_SECONDS))


def asked(redis: RedisSettings, question: Callable[[RedisStore], Awaitable[T]]) -> T | StoreError:
    """The store's answer to this question, or the error because of which there is none. This takes at most LOOK_TIMEOUT
    seconds."""

    async def ask() -> T:
        async with open_store(redis) as store:
            return await question(store)

    return anyio.run(bounded, ask(), redis.masked_url, LOOK_TIMEOUT, backend_options={"use_uvloop": True})


async def bounded(answer: Awaitable[T], url: str, seconds: float) -> T | StoreError:
    """The answer of the server at this URL, or the error because of which there is none within `seconds`."""
    try:
        with anyio.fail_after(seconds):
            return await answer
    except StoreError as error:
        return error
    except TimeoutError:
        return StoreUnavailableError(f"{url} does not answer within {seconds:g} s")


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
        yield from judge_queue(info.queue, expected.lease)
        yield from judge_hosts(info.queue.members)
        yield from _judge_consumers(info, info.queue)
    for part, reason in info.unseen:
        if part != "other clients":  # _judge_consumers reports this part
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
        if info.rights is not None and info.server is not None:
            yield from redis_server.judge_replay(info.persistence, info.rights, info.server.engine)


def _judge_consumers(info: StoreInfo, queue: QueueInfo) -> Iterator[Finding]:
    stolen = queue.counts.counters.get("stolen", 0)
    missing = sum(lane.suspects for lane in queue.lanes)
    yield from redis_server.judge_strangers(info.clients.strangers if info.clients else None, stolen, missing)


def _judge_unseen(part: str, reason: str, expected: Expectation) -> Finding:
    check = Check("redis", part)
    if part in NEEDED:
        return check.problem(reason, redis_server.acl_line("holdfast", expected.queue))
    return check.note(f"cannot be read: {reason}")
