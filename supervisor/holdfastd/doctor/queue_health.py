"""The queue and who works on it: what waits, what was given up on, which workers are silent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.core.lanes import LaneState, wrong_end_mend, wrong_end_words
from holdfast.core.plurals import counted
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.store_info import LaneInfo, QueueInfo, WorkerInfo
from holdfast.core.task_states import State
from holdfast.core.tasks import Counts
from holdfastd.core.host_words import remedy
from holdfastd.doctor.finding import Check, Finding

LONG_WAIT = 300.0  # seconds
TOLD_FOR = 86400.0  # seconds
SETTLED = 3  # heartbeats: a steward has had the time to speak for it
VOUCHED_WITHIN = 30.0  # seconds; a steward speaks for its workers far more often

_SCHEMA = Check("queue", "schema")
_EPOCH = Check("queue", "data")
_WAITING = Check("queue", "waiting tasks")
_DEAD = Check("queue", "dead letters")
_UNREADABLE = Check("queue", "unreadable entries")
_WORKERS = Check("queue", "workers of all hosts")
_STEWARDS = Check("queue", "stewards")


def judge(queue: QueueInfo, lease: float) -> Iterator[Finding]:
    """`lease`: seconds that a silent worker is believed to be alive."""
    if queue.schema not in (None, queue.our_schema):
        found = f"its keys have schema {queue.schema}, this version speaks {queue.our_schema}"
        yield _SCHEMA.problem(found, "run the version that wrote it, or use another --queue-name")
    else:
        yield _SCHEMA.ok(queue.schema or "none yet: this queue is new")
    yield _judge_epoch(queue)
    yield from _judge_waiting(queue)
    yield from _judge_set_aside(queue.counts)
    yield from _judge_members(queue.members, queue.counts.workers, lease)
    seen = {state.name: wrong_end_words(state, queue.now_ms) for state in queue.states}
    for lane in queue.lanes:
        yield from judge_lane(lane, seen.get(lane.name, ""))
    for state in queue.states:
        yield from _judge_pause(state, queue.now_ms)
        yield from _judge_service(state)
    for one in queue.quiet:
        yield _judge_quiet(one, queue.now_ms)
    for schedule in queue.undeclared:
        of = f"of application {schedule.owner} " if schedule.owner else ""
        found = f"no live worker {of}declares this schedule of the code, and it goes on firing"
        yield Check("queue", f"schedule {schedule.schedule_id}").warning(found, schedule.remedy)


def _judge_epoch(queue: QueueInfo) -> Finding:
    """Nobody who looks at the tasks that are there now could tell that others are missing."""
    ago = None if queue.emptied_ms is None else (queue.now_ms - queue.emptied_ms) / 1000
    if ago is None or ago > TOLD_FOR:
        return _EPOCH.ok("no steward has seen it vanish")
    known = counted(queue.lost, "task was", "tasks were")
    found = f"the store came back empty {ago:.0f} s ago: what it held is lost ({known} known)"
    return _EPOCH.problem(
        found, "have producers submit again what they still know of; set appendonly yes in redis.conf"
    )


def _judge_waiting(queue: QueueInfo) -> Iterator[Finding]:
    counts = queue.counts
    waiting = max(counts.states.get(State.SUBMITTED, 0), sum(counts.lanes.values()))
    if not waiting:
        yield _WAITING.ok("none")
        return
    age = 0.0 if counts.oldest_ms is None else (queue.now_ms - counts.oldest_ms) / 1000
    found = f"{waiting}, the oldest for {age:.0f} s" if age else f"{waiting}"
    if not counts.workers:
        yield _WAITING.warning(f"{found}, and no worker is there", "supervisor start")
    elif age > LONG_WAIT:
        yield _WAITING.warning(found, "more workers (supervisor scale N), or more --concurrency")
    else:
        yield _WAITING.ok(found)


def _judge_pause(lane: LaneState, now_ms: int) -> Iterator[Finding]:
    if lane.paused_since_ms is None:
        return
    ago = max(0, now_ms - lane.paused_since_ms) / 1000
    found = f"paused for {ago:.0f} s: {lane.paused_because}; {counted(lane.waiting, 'waits', 'wait')} in it"
    yield Check("queue", f"pause of lane {lane.name}").warning(found, f"supervisor lanes resume {lane.name}")


def _judge_service(lane: LaneState) -> Iterator[Finding]:
    """What waits where no live worker could take it."""
    look = Check("queue", f"workers of lane {lane.name}")
    if lane.waiting and not lane.workers:
        found = f"no live worker serves it, and {counted(lane.waiting, 'waits', 'wait')} in it"
        yield look.warning(found, f"supervisor start --lanes {lane.name}, or add it to --lanes of those that run")
        return
    for name, count in lane.missing.items():
        wanted = f"handler {name}" if name else "a default handler"
        found = f"none of its {counted(lane.workers, 'live worker')} has {wanted}, {counted(count, 'waits', 'wait')}"
        yield Check("queue", f"{wanted} in lane {lane.name}").warning(
            found, "start workers that register it: tasks fail after --unknown-handler-timeout"
        )
    if lane.workers:
        told = dict.fromkeys("in order" if one.weight is None else str(one.weight) for one in lane.served)
        weights = f", weight {' or '.join(told)}" if told else ""
        yield look.ok(f"served by {counted(lane.workers, 'live worker')}{weights}")


def _judge_quiet(one: Quiet, now_ms: int) -> Finding:
    ago = max(0, now_ms - one.since_ms) / 1000
    which = "all hosts" if one.is_all else f"host {one.host}"
    word, what = ("halted", "claiming nothing, making no fires") if one.is_halt else ("quiet", "claiming nothing")
    found = f"{which} {word} for {ago:.0f} s, {what}; {one.by} said so: {one.reason}"
    return Check("queue", f"{word} hosts").warning(found, remedy(one))


def _judge_set_aside(counts: Counts) -> Iterator[Finding]:
    if counts.dead:
        found = f"{counted(counts.dead, 'task was', 'tasks were')} given up on"
        yield _DEAD.warning(found, "supervisor dead list shows why; supervisor dead retry runs them again")
    else:
        yield _DEAD.ok("none")
    if counts.unreadable:
        aside = ("entry that cannot be read was", "entries that cannot be read were")
        found = f"{counted(counts.unreadable, *aside)} set aside"
        yield _UNREADABLE.warning(found, "supervisor queue unreadable shows why: mend their producer")
    else:
        yield _UNREADABLE.ok("none")


def _judge_members(members: Sequence[WorkerInfo], count: int, lease: float) -> Iterator[Finding]:
    if not members:
        yield _WORKERS.note("none is known", "supervisor start")
        return
    silent = [member for member in members if member.beat_ago_ms > lease * 1000]
    if silent:
        longest = silent[0]
        found = (
            f"{len(silent)} of {count} are silent beyond their lease, the longest for "
            f"{longest.beat_ago_ms / 1000:.0f} s, on {longest.host}"
        )
        yield _WORKERS.warning(found, "a steward recovers what they held: is a supervisor running anywhere?")
    else:
        yield _WORKERS.ok(f"{count}, all of them heard within their lease")
    yield from _judge_stewards(members)


def _judge_stewards(members: Sequence[WorkerInfo]) -> Iterator[Finding]:
    alone = {member.host for member in members if member.beats >= SETTLED and not _is_vouched(member)}
    if alone:
        found = f"none speaks for workers on {', '.join(sorted(alone))}"
        yield _STEWARDS.warning(found, "supervisor status there: does its steward live, and reach the store?")
    else:
        yield _STEWARDS.ok("each worker is spoken for")


def _is_vouched(member: WorkerInfo) -> bool:
    return member.vouched_ago_ms is not None and member.vouched_ago_ms <= VOUCHED_WITHIN * 1000


def judge_lane(lane: LaneInfo, seen: str = "") -> Iterator[Finding]:
    """From which end it is filled can be seen only while it is being filled and something waits in it. `seen`: what
    stewards, who look all the time, have seen of late."""
    look = Check("queue", f"lane {lane.name}")
    if lane.kind not in ("list", "none"):
        found = f"this key is a {lane.kind}, and a lane is a list"
        yield look.problem(found, f"rename that key, or use another name (RENAME {lane.name} …)")
    elif lane.pushed_at_head or seen:
        end, wrong = ("tail", "RPUSH") if lane.turned else ("head", "LPUSH")
        found = (
            f"somebody pushes at its {end} ({wrong}): the last in are the first out, and the first may wait for ever"
        )
        yield look.warning(f"{found}; {seen}" if seen else found, wrong_end_mend(lane.name, turned=lane.turned))
    else:
        yield look.ok(f"{counted(lane.length, 'entry', 'entries')}; nobody was seen to push at the wrong end")
