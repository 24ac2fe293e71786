"""The Redis calls about schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.core.acceptance import SubmitOptions
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import (
    Definition,
    Due,
    EndedRun,
    Fire,
    FireAnswer,
    FireOrder,
    Occurrence,
    Put,
    PutAnswer,
    Retired,
    ScheduleAnswer,
    SchedulePage,
    ScheduleRecord,
    SpoiltSchedule,
    Undeclared,
    read_policy,
)
from holdfast.core.schedules import Bounds
from holdfast.core.task_states import State
from holdfast.core.trail import Chronicle
from holdfast.errors import UnreadableScheduleError
from holdfast.store.redis.connection import DAMAGED, RedisPart, Value
from holdfast.store.redis.decode import page_of, pairs, read_position

UNDECLARED_AT_ONCE = 100  # schedules
UNDECLARED_STEPS = 1000  # a bound, because the search may start over many times
HALTED = b"halted"  # the caller must create no tasks of schedules
GONE = b"gone"  # a schedule of the index that has no record
_HIGHEST = 2**53  # of a number in a record: larger ones are not counted exactly

_pack = msgspec.msgpack.Encoder().encode


_NO_OPTIONS = SubmitOptions()


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


class RedisSchedules(RedisPart):
    """The calls about schedules. Producers define schedules; stewards create the tasks of due schedules. Moments are
    milliseconds of the store's clock."""

    async def put_schedule(
        self, definition: Definition, expected: int | None, due: int | None, *, again: bool, asked: int | None = None
    ) -> Put:
        """Set a schedule. If the schedule already has the same spec, nothing changes. With `again`, a schedule that has
        ended starts over."""
        fields = [value for pair in _fields(definition) for value in pair]
        moments = (_text(expected), _text(due), _text(asked))
        answer = await self._change_setting("schedule_put", definition.schedule_id, int(again), *moments, *fields)
        word, generation, moment = answer
        return Put(PutAnswer(word.decode()), generation, int(moment) if moment else None)

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """The schedules that are due. `scope`: the halts during which the caller must not create tasks of schedules;
        None: halts do not matter."""
        answer = await self._run_whole("schedule_due", limit, *_halts(scope))
        if answer == HALTED:
            return Due(0, (), None, halted=True)
        now, wait, *rows = answer
        records, spoilt = _records(rows)
        return Due(now, records, None if wait < 0 else wait, spoilt)

    async def schedules_soon(self, after: int, until: int, offset: int, limit: int) -> tuple[ScheduleRecord, ...]:
        """A page of the schedules that are due after one moment and up to another, earliest first."""
        return _records(await self._run("schedule_soon", after, until, offset, limit))[0]

    async def set_schedule_aside(self, one: SpoiltSchedule) -> ScheduleAnswer:
        """Set an unreadable schedule aside: it is never due until it is set again. Answers ASIDE or CHANGED."""
        return ScheduleAnswer(await self._word("schedule_aside", one.schedule_id, one.generation))

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[FireAnswer]:
        """Carry out these orders: create the tasks of due schedules. The same order given twice creates its task once.
        The answers are in the order of the orders."""
        packed = _pack([_order(one, self._keys.name) for one in orders])
        answers = await self._run_whole("schedule_fire", packed, *_halts(scope))
        return [FireAnswer(answer.decode()) for answer in answers]

    async def pause_schedule(self, schedule_id: str, reason: str, until: int | None) -> ScheduleAnswer:
        """Pause a schedule until a moment (None: until it is resumed). Answers PAUSED or UNKNOWN."""
        return await self._change_schedule("schedule_pause", schedule_id, reason, _text(until))

    async def resume_schedule(
        self, schedule_id: str, generation: int, expected: int | None, due: int | None
    ) -> ScheduleAnswer:
        """Resume a schedule that has this generation. Answers RESUMED, RUNNING, CHANGED or UNKNOWN."""
        return await self._change_schedule("schedule_resume", schedule_id, generation, _text(expected), _text(due))

    async def _change_schedule(self, name: str, schedule_id: str, *arguments: Value) -> ScheduleAnswer:
        word: str = (await self._change_setting(name, schedule_id, *arguments)).decode()
        if word == DAMAGED:
            raise _unreadable(schedule_id, "its record cannot be read")
        return ScheduleAnswer(word)

    async def remove_schedule(self, schedule_id: str) -> ScheduleAnswer:
        """Remove a schedule; its running task goes on. Answers REMOVED or UNKNOWN."""
        word: bytes = await self._change_setting("schedule_remove", schedule_id)
        return ScheduleAnswer(word.decode())

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None:
        """The record of a schedule; None if there is no such schedule. Raises UnreadableScheduleError if the record
        cannot be read."""
        record = await self._schedule(schedule_id)
        if isinstance(record, SpoiltSchedule):
            raise _unreadable(schedule_id, record.why)
        return record

    async def _schedule(self, schedule_id: str) -> ScheduleRecord | SpoiltSchedule | None:
        fields = await self._run("schedule_show", schedule_id)
        return _readable(schedule_id, [] if fields == GONE else fields) if fields else None

    async def schedules(self, limit: int, cursor: str = "") -> SchedulePage:
        """A page of all schedules. The schedule with the earliest next run comes first; schedules without a next run
        come last."""
        start = read_position(cursor)
        names: list[bytes] = await self._command("ZRANGE", self._keys["schedules"], start, start + limit)
        names, following = page_of(names, start, limit)
        records = [await self._schedule(name.decode()) for name in names]
        return SchedulePage(*_sorted(records), cursor=following)

    async def schedules_of(self, owner: str, limit: int, cursor: str = "") -> tuple[tuple[str, ...], str]:
        """A page of the ids of an owner's schedules, and the cursor of the next page (empty at the end)."""
        start = read_position(cursor)
        ids: list[bytes] = await self._command("ZRANGE", self._keys["owner"] + owner, start, start + limit)
        ids, following = page_of(ids, start, limit)
        return tuple(name.decode() for name in ids), following

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """Remove schedules that code has declared and that no live worker declares any more, if workers of the same
        application run. One call looks at about `limit` schedules. `seen`: the token from the call before, empty for
        the first call. After the last step, calls do nothing until something changes or a minute has passed."""
        (token, begins, more), removed, left = await self._run("schedule_retire", seen, limit)
        return Retired(token.decode(), _undeclared(removed), _undeclared(left), begins=begins == 1, more=more == 1)

    async def undeclared_schedules(self, limit: int) -> tuple[Undeclared, ...]:
        """The declared schedules that no live worker declares any more, and that the store does not remove by
        itself."""
        undeclared: dict[Undeclared, None] = {}
        token = b""
        for _ in range(UNDECLARED_STEPS):
            (token, begins, more), flat = await self._run("schedule_undeclared", token, UNDECLARED_AT_ONCE)
            undeclared = dict.fromkeys((*(() if begins else undeclared), *_undeclared(flat)))
            if not more or len(undeclared) >= limit:
                break
        return tuple(undeclared)[:limit]

    async def schedule_history(self, schedule_id: str, limit: int) -> tuple[Occurrence, ...]:
        """The last planned runs of a schedule and their outcomes, newest first; the store keeps a hundred."""
        lines = await self._run("schedule_history", schedule_id, limit)
        return tuple(_occurrence(line.decode()) for line in reversed(lines))

    async def wait_fires(self, timeout: float) -> bool:
        """Block, at most `timeout` seconds, until somebody sets a schedule whose next run is earlier than that of all
        others."""
        return await self._block(timeout, "BRPOP", self._keys["schedules_control"], timeout) is not None


def _unreadable(schedule_id: str, why: str) -> UnreadableScheduleError:
    return UnreadableScheduleError(
        f"schedule {schedule_id}: {why}; remove it with `supervisor schedules remove {schedule_id}`, and set it again"
    )


def _halts(scope: HaltScope | None) -> tuple[Value, ...]:
    """The script arguments that say which halts keep the caller from creating tasks of schedules."""
    return ("", "") if scope is None else (scope.host, scope.seen)


def _undeclared(flat: Sequence[bytes]) -> tuple[Undeclared, ...]:
    return tuple(Undeclared(name.decode(), owner.decode()) for name, owner in zip(flat[::2], flat[1::2], strict=True))


def _fields(definition: Definition) -> list[tuple[str, Value]]:
    bounds, policy = definition.bounds, definition.policy
    return [
        ("spec", definition.spec),  # first: by it two definitions are the same
        ("cadence", definition.cadence),
        ("timezone", definition.timezone),
        ("start", _text(bounds.start)),
        ("end", _text(bounds.end)),
        ("limit", _text(bounds.limit)),
        ("overlap", policy.overlap),
        ("misfire", str(policy.misfire)),
        ("deadline", _text(policy.deadline)),
        ("jitter", policy.jitter),
        ("on_failure", definition.on_failure),
        ("backoff", definition.backoff),
        ("owner", definition.owner),
        ("declared", "1" if definition.declared else ""),
    ]


def _records(found: Sequence[Any]) -> tuple[tuple[ScheduleRecord, ...], tuple[SpoiltSchedule, ...]]:
    return _sorted([_readable(name.decode(), fields) for name, fields in zip(found[::2], found[1::2], strict=True)])


def _sorted(
    found: Sequence[ScheduleRecord | SpoiltSchedule | None],
) -> tuple[tuple[ScheduleRecord, ...], tuple[SpoiltSchedule, ...]]:
    return (
        tuple(one for one in found if isinstance(one, ScheduleRecord)),
        tuple(one for one in found if isinstance(one, SpoiltSchedule)),
    )


def _readable(schedule_id: str, flat: Any) -> ScheduleRecord | SpoiltSchedule:
    """The schedule's record. A SpoiltSchedule if the record cannot be read, so that the caller can still show the
    others."""
    if not flat:
        return SpoiltSchedule(schedule_id, "", "its record is gone")
    try:
        return _record(schedule_id, flat)
    except (KeyError, ValueError, OverflowError) as error:
        why = f"its record is unreadable: {type(error).__name__} {error}"
        return SpoiltSchedule(schedule_id, dict(pairs(flat)).get("generation", b"").decode(errors="replace"), why)


def _record(schedule_id: str, flat: Any) -> ScheduleRecord:
    fields = {name: value.decode() for name, value in pairs(flat)}

    def moment(name: str, least: int = -_HIGHEST) -> int | None:
        number = int(float(fields[name])) if fields.get(name) else None
        if number is not None and not least <= number <= _HIGHEST:
            raise ValueError(f"{name} is out of range")
        return number

    def number(name: str) -> int | None:
        return moment(name, 0)

    definition = Definition(
        schedule_id,
        fields["spec"],
        fields["cadence"],
        fields["timezone"],
        Bounds(moment("start"), moment("end"), number("limit")),
        read_policy(fields["overlap"], fields["misfire"], number("deadline"), number("jitter") or 0),
        fields["on_failure"],
        number("backoff") or 0,
        fields.get("owner", ""),
        fields.get("declared") == "1",
    )
    return ScheduleRecord(
        definition,
        generation=number("generation") or int(fields["generation"]),  # it has one
        expected=moment("expected"),
        due=moment("due"),
        fires=number("fires") or 0,
        paused=fields["paused"],
        until=moment("until"),
        ended=fields.get("ended", ""),
        task=fields.get("task", ""),
        pending=moment("pending"),
        released=fields.get("released") == "1",
        streak=number("streak") or 0,
        created=number("created") or 0,
        updated=number("updated") or 0,
        last=_ended_run(fields.get("outcome", "")),
    )


def _ended_run(text: str) -> EndedRun | None:
    """None if no run has ended, or if somebody else has written the field."""
    at, _, rest = text.partition(" ")
    state, _, task = rest.partition(" ")
    return EndedRun(task, State(state), int(at)) if at.isdecimal() and len(at) <= 15 and state in set(State) else None


def _order(order: FireOrder, lane_name: Any) -> list[Any]:
    condition = (order.generation, _text(order.seen), order.kind, order.good_from, order.good_until)
    moments = map(_text, (order.following, order.due, *(order.missed or (None, None))))
    return [order.schedule_id, *condition, *moments, order.why, [_fire(fire, lane_name) for fire in order.fires]]


def _fire(fire: Fire, lane_name: Any) -> list[Any]:
    task, options = fire.task, fire.task.options or _NO_OPTIONS
    message = (task.task_id, task.message_id, f"o{task.digest}", task.operation.decode())
    limits = map(_text, (task.max_attempts, task.timeout_ms))
    keys = (options.unique, _text(options.unique_ms))
    place = (lane_name(task.lane), task.name, *limits, "1" if fire.is_made else "", task.concurrency_key)
    return [str(fire.scheduled_at), *message, *place, options.webhook, _text(options.expires_in_ms), *keys]


def _occurrence(line: str) -> Occurrence:
    at, what, scheduled_at, task, detail = line.split("|", 4)
    return Occurrence(int(at), Chronicle(what), int(scheduled_at) if scheduled_at else None, task, detail)
