"""Promise about bad schedules: every public call answers with a named error of ours, and nothing is written."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.client.schedules import Schedules
from holdfast.errors import InvalidScheduleError, InvalidTaskError, UnknownScheduleError
from holdfast.sync import SyncSchedules
from tests.conformance.stand import Stand
from tests.conformance.test_promises_bad_input import (
    BAD_IDS,
    BAD_TEXTS,
    LARGEST,
    NOT_JSON,
    Hostile,
)

pytestmark = pytest.mark.anyio


def spec(**fields: Any) -> ScheduleSpec:
    return ScheduleSpec(**{"every": 60, "text": "x", **fields})


BAD_SCHEDULE_IDS = [bad for bad in BAD_IDS if not (isinstance(bad, str) and bad.isprintable() and 0 < len(bad) <= 200)]
BAD_LENGTHS = ["soon", "", math.nan, math.inf, -1, 10**400, [1], {"a": 1}, b"5", Hostile(), "x" * 5_000, "\udc80"]
BAD_MOMENTS = [
    "soon",
    "",
    math.nan,
    math.inf,
    -1,
    10**400,
    [1],
    {"a": 1},
    b"5",
    Hostile(),
    datetime(1, 1, 1, tzinfo=UTC),
]
BAD_WORDS = ["never", 5, [1], b"x", None, Hostile(), "x" * 5_000, "\udc80", datetime.now(UTC)]
# A field of ScheduleSpec → what it must refuse beside a cadence and a text.
BAD_FIELDS: dict[str, list[Any]] = {
    "cron": ["", "61 * * * *", "x" * 5_000, 5, [1], "\udc80", Hostile()],
    "every": [0, True, *BAD_LENGTHS],
    "rrule": ["", "FREQ=SOMETIMES", "x" * 5_000, 5, "\udc80", Hostile()],
    "at": BAD_MOMENTS,
    "schedule": ["", "PERHAPS", "x" * 5_000, 5, "\udc80", Hostile()],
    "timezone": ["Mars/Base", *BAD_WORDS],
    **dict.fromkeys(["anchor", "start", "end"], BAD_MOMENTS),
    "limit": [0, -1, 1.5, "5", True, 10**400, math.nan, Hostile(), "\udc80"],
    **dict.fromkeys(["jitter", "start_deadline", "backoff"], BAD_LENGTHS),
    **dict.fromkeys(["overlap", "misfire", "on_failure"], BAD_WORDS),
    "owner": [bad for bad in BAD_WORDS if bad != "never"],
    "text": [5, b"x", ["x"], "\udc80", datetime.now(UTC), "x" * LARGEST, Hostile()],
    "data": NOT_JSON,
    "name": [5, "", "x" * 201, "\udc80", Hostile()],
    "kwargs": [5, "x", [1], {"a": object()}, {1: 2}, "\udc80"],
    "lane": [5, "", "a b", "a\n", "x" * 201, "{bindu:tasks}:due", Hostile()],
    "max_attempts": [0, -1, 1001, 1.5, "3", True, Hostile()],
    "timeout": [0, 1e12, *BAD_LENGTHS],
    "expires": [0, *BAD_LENGTHS],
    "unique": [5, "", "x" * 1_001, "\udc80", b"x", [1], Hostile()],
    "unique_for": [0, *BAD_LENGTHS],
    "concurrency_key": [5, "", "x" * 129, "a\n", "\udc80", b"x", Hostile()],
    "webhook": [5, "", "example.com", "ftp://example.com/x", "\udc80", b"x", Hostile()],
    "metadata": [5, "x", {"a": object()}, {1: 2}],
}
WAYS = {"cron", "every", "rrule", "at", "schedule"}


def beside(field: str, bad: object) -> dict[str, object]:
    """The bad value, with what makes it the only thing wrong."""
    when = {} if field in WAYS else {"every": 60}
    what = {} if field in {"data", "text"} else {"name": "x"} if field == "kwargs" else {"text": "x"}
    key = {"unique": "k"} if field == "unique_for" else {}
    return {**when, **what, **key, field: bad}


BAD_SPECS = [beside(field, bad) for field, values in BAD_FIELDS.items() for bad in values]
REFUSED_SCHEDULES: dict[str, list[dict[str, Any]]] = {
    "upsert": [
        *({"schedule_id": bad, "every": 60, "text": "x"} for bad in BAD_SCHEDULE_IDS),
        *({"schedule_id": "new", **bad} for bad in BAD_SPECS),
        {"schedule_id": "new"},
        {"schedule_id": "new", "every": 60},
        {"schedule_id": "new", "every": 60, "cron": "* * * * *", "text": "x"},
        {"schedule_id": "new", "every": 60, "text": "x", "colour": "red"},
    ],
    **{
        call: [
            *({"schedule_id": bad, "spec": spec()} for bad in BAD_SCHEDULE_IDS),
            *({"schedule_id": "new", "spec": bad} for bad in [5, None, "x", {"every": 5}, Hostile()]),
            *({"schedule_id": "new", "spec": ScheduleSpec(**bad)} for bad in BAD_SPECS),
        ]
        for call in ("put", "declare", "check")
    },
    **{
        call: [
            *({"specs": bad} for bad in [5, None, "x", [spec()], spec(), Hostile()]),
            *({"specs": {"good": spec(), bad: spec()}} for bad in BAD_SCHEDULE_IDS if not isinstance(bad, list)),
            *({"specs": {"good": spec(), "new": bad}} for bad in [5, None, "x", {"every": 5}, Hostile()]),
        ]
        for call in ("put_all", "check_all")
    },
    "owned": [{"owner": bad} for bad in [5, None, b"x", "x" * 201, "\udc80", Hostile()]],
    "known": [
        *({"schedule_ids": bad} for bad in [5, None, "ok", Hostile()]),
        *({"schedule_ids": ["ok", bad]} for bad in BAD_SCHEDULE_IDS),
    ],
    **{
        call: [{"schedule_id": bad} for bad in BAD_SCHEDULE_IDS] for call in ("get", "begin", "resume", "remove", "run")
    },
    "pause": [
        *({"schedule_id": bad} for bad in BAD_SCHEDULE_IDS),
        *({"schedule_id": "ok", "reason": bad} for bad in BAD_TEXTS),
        *({"schedule_id": "ok", "until": bad} for bad in [5, "tomorrow", b"x", Hostile()]),
        {"schedule_id": "ok", "until": datetime(2030, 1, 1)},  # noqa: DTZ001 - without a zone, that is the point
        {"schedule_id": "ok", "until": datetime(1969, 12, 31, tzinfo=UTC)},
        {"schedule_id": "ok", "until": datetime(1970, 1, 2, tzinfo=UTC)},
    ],
    "list": [
        *({"limit": bad} for bad in [0, -1, 10_001, 1.5, "3", True, None, Hostile()]),
        *({"cursor": bad} for bad in [5, None, "nonsense", "-1", "9" * 99, Hostile()]),
    ],
    "history": [
        *({"schedule_id": bad} for bad in BAD_SCHEDULE_IDS),
        *({"schedule_id": "ok", "limit": bad} for bad in [0, "3", None, 10**9]),
    ],
    "preview": [
        *({"schedule_id": bad, "count": 1} for bad in BAD_SCHEDULE_IDS),
        *({"schedule_id": "ok", "count": bad} for bad in [-1, 1.5, "3", None, True, 10**9, Hostile()]),
        *({"schedule_id": "ok", "count": 1, "after": bad} for bad in [-1, 1.5, "3", True, 10**40, Hostile()]),
    ],
}
BY_POSITION = ("schedule_id",)  # of upsert: the names are those of the spec


def test_every_public_call_for_schedules_is_here() -> None:
    assert {name for name in dir(Schedules) if not name.startswith("_")} == REFUSED_SCHEDULES.keys()
    assert {name for name in dir(SyncSchedules) if not name.startswith("_")} == REFUSED_SCHEDULES.keys()
    assert set(ScheduleSpec.__struct_fields__) == BAD_FIELDS.keys()


@pytest.fixture
async def manager(stand: Stand) -> TaskManager:
    made = TaskManager(stand.store, queue=stand.queue)
    await made.schedules.upsert("ok", every=60, text="x")
    return made


@pytest.mark.parametrize("call", REFUSED_SCHEDULES)
async def test_bad_schedules_are_a_named_error_and_nothing_is_written(
    stand: Stand, manager: TaskManager, call: str
) -> None:
    before = await stand.store.snapshot()
    for arguments in REFUSED_SCHEDULES[call]:
        by_position = [arguments[name] for name in BY_POSITION if name in arguments]
        by_name = {name: value for name, value in arguments.items() if name not in BY_POSITION}
        with pytest.raises((InvalidScheduleError, InvalidTaskError)) as refused:
            await getattr(manager.schedules, call)(*by_position, **by_name)
        message = str(refused.value)
        assert message, arguments
        assert message.isprintable()
        assert len(message) < 500
    assert await stand.store.snapshot() == before


async def test_unknown_schedules_are_named_and_nothing_is_written(stand: Stand, manager: TaskManager) -> None:
    before = await facts(stand)
    schedules = manager.schedules
    of_one = (schedules.get, schedules.begin, schedules.pause, schedules.resume, schedules.remove, schedules.run)
    for call in of_one:
        with pytest.raises(UnknownScheduleError, match="no schedule nobody"):
            await call("nobody")
    assert await schedules.history("nobody") == ()
    assert await facts(stand) == before


async def facts(stand: Stand) -> dict[str, Any]:
    """All that the store holds, without the marks by which a ledger knows that it was answered, be it with unknown."""
    found: dict[str, Any] = {**await stand.store.snapshot()}
    events = found[f"{{{stand.queue}}}:events"]
    listed = [event for event in events["content"] if event["event"] != "requested"]
    for mark in ("asked", "answers"):
        found.pop(f"{{{stand.queue}}}:{mark}", None)
    return {**found, f"{{{stand.queue}}}:events": {**events, "content": listed}}
