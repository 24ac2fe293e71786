"""The API's document states the bounds and the default of each parameter and field, and the API keeps to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from holdfast.client.task_spec import TaskSpec
from holdfast.core.delivery import Settle, Settlement
from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings
from tests.web.site import Site, site
from tests.web.test_openapi import DOCUMENT, SCHEMAS, operations

pytestmark = pytest.mark.anyio

API = "/api/v1"
LIMIT, DURATION, CURSOR, ID = (1, 500, 100), (1, 50, None), (0, 1000, ""), (1, None, None)
FLAG, REASON, COUNT = (None, None, False), (0, 1000, None), (1, 1_000_000, None)

# The least and the most of a number, or of the characters of a text; and the default. None: there is none.
QUERIES: Mapping[str, Mapping[str, tuple[object, object, object]]] = {
    "POST /tasks": {"unchecked": FLAG},
    "GET /tasks": {"state": (None, None, []), "older": DURATION, "newer": DURATION, "newest_first": FLAG,
                   "limit": LIMIT, "cursor": CURSOR},
    "GET /tasks/{task_id}": {"wait": (0, 60, 0)},
    "GET /tasks/{task_id}/events": {"after": (0, 100, ""), "last-event-id": (0, 100, None)},
    "GET /bulk": {"limit": (1, 100, 100)},
    "GET /bulk/{verb}/count": {"state": (None, None, []), "older": DURATION, "newer": DURATION,
                               "found": (0, 10**15, 0), "searched": (0, 10**15, 0), "cursor": CURSOR, "longest": FLAG},
    "GET /queue/peek": {"limit": (1, 500, 10)},
    "GET /schedules": {"limit": LIMIT, "cursor": CURSOR},
    "PUT /schedules/{schedule_id}": {"unchecked": FLAG},
    "GET /schedules/{schedule_id}/history": {"limit": LIMIT},
    "GET /schedules/{schedule_id}/next": {"count": (1, 1000, 5), "after": DURATION},
    "GET /batches": {"limit": LIMIT, "cursor": CURSOR},
    "GET /batches/{batch}/tasks": {"after": (0, 1_000_000, 0), "limit": LIMIT},
    "GET /dead": {"limit": LIMIT, "cursor": CURSOR, "older": DURATION},
    "GET /queue/unreadable": {"limit": (1, 500, 10)},
    "GET /webhooks": {"limit": LIMIT, "cursor": (None, None, "")},
    "GET /events": {"kind": (None, None, []), "limit": LIMIT, "cursor": (None, None, "")},
    "GET /stats": {"since": (1, 50, "1h")},
    "GET /errors": {"since": (1, 50, "24h"), "limit": LIMIT, "first": (0, 1_000_000, 0)},
    "GET /handlers": {"since": (1, 50, "1h")},
    "GET /activity": {"limit": LIMIT, "cursor": (None, None, "")},
}  # fmt: skip
BODIES: Mapping[str, Mapping[str, tuple[object, object]]] = {
    "ReasonedTask": {"reason": (0, 1000)},
    "ResumeTask": {"message_id": (1, 1000), "reason": (0, 1000)},
    "SendMessage": {"message_id": (1, 1000)},
    "BeginBulk": {"older": (1, 50), "newer": (1, 50), "reason": (0, 1000)},
    "PauseLane": {"reason": (0, 1000)},
    "LimitLane": {"running": COUNT[:2], "per_key": COUNT[:2], "rate": (0, 50), "burst": COUNT[:2]},
    "LimitHandler": {"rate": (0, 50), "burst": COUNT[:2]},
    "OrderHosts": {"reason": (0, 1000)},
    "PauseSchedule": {"reason": (0, 1000), "until": (1, 50)},
    "CancelBatch": {"reason": (0, 1000)},
    "GiveUpWebhook": {"reason": (0, 1000)},
}
_LEAST, _MOST = ("minimum", "minLength"), ("maximum", "maxLength")


def parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    yield from schema.get("anyOf", ())


def bounds(schema: Mapping[str, Any]) -> tuple[object, object]:
    """The least and the most of a schema. A text with a most only has the least 0."""
    found = {name: part[name] for part in parts(schema) for name in (*_LEAST, *_MOST) if name in part}
    most = next((found[name] for name in _MOST if name in found), None)
    return next((found[name] for name in _LEAST if name in found), None if most is None else 0), most


def parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for each in operation.get("parameters", ()):
        found = DOCUMENT["components"]["parameters"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        if found["in"] != "path":
            yield found["name"], found["schema"]


def test_the_document_says_the_bounds_and_the_default_of_each_parameter() -> None:
    said = {
        name: {
            field: (*bounds(schema), schema.get("default"))
            for field, schema in parameters(operation)
            if bounds(schema) != (None, None) or "default" in schema
        }
        for name, operation in operations()
    }
    assert {name: fields for name, fields in said.items() if fields} == QUERIES


def test_the_document_says_the_bounds_of_each_field_of_a_body() -> None:
    said = {
        name: {
            field: bounds(each) for field, each in SCHEMAS[name]["properties"].items() if bounds(each) != (None, None)
        }
        for name in SCHEMAS
        if "properties" in SCHEMAS[name]
    }
    assert {name: fields for name, fields in said.items() if fields} == BODIES


ASKED = [
    (name.removeprefix("GET "), field, least, most)
    for name, fields in QUERIES.items()
    for field, (least, most, default) in fields.items()
    if name.startswith("GET ") and type(default) is int and type(least) is int and type(most) is int
]


async def test_a_number_is_accepted_to_its_bounds_and_refused_beyond_them(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for path, field, least, most in ASKED:
            asked = API + path.replace("{verb}", "cancel").replace("{batch}", "none").replace("{", "").replace("}", "")
            for value, is_accepted in ((least, True), (most, True), (least - 1, False), (most + 1, False)):
                answer = await here.program.get(asked, params={field: value})
                assert (answer.status_code != 400) is is_accepted, (asked, field, value, answer.text)
                assert is_accepted or answer.json()["field"] == field


# Lists with a second page: the path, the field of the answer with its items, and the name of an item.
LISTS = [
    ("/tasks", "tasks", "task_id"),
    ("/schedules", "schedules", "schedule"),
    ("/batches", "batches", "batch"),
    ("/dead", "tasks", "task_id"),
    ("/webhooks", "webhooks", "webhook"),
    ("/events", "events", "position"),
    ("/activity", "activity", "position"),
]


async def five_of_each(here: Site, queue: str) -> None:
    for number in range(5):
        text = f"n{number}"
        await here.manager.schedules.upsert(text, every=3600, text="x")
        await here.manager.run_tasks([TaskSpec(text="x")], batch=text)
        await here.program.post(f"{API}/schedules/{text}/pause", json={"reason": "r"})
        await here.manager.run_task("x", task_id=text, webhook=f"https://example.org/{text}")
    await here.store.register(Introduction("w", "host", "boot", 7, 0))
    taken = (await here.store.pull("w", 1, 10, [queue], [])).deliveries
    ends = [Settlement(each.task_id, each.claim, Settle.EXHAUSTED, reason="ValueError: x") for each in taken]
    await here.store.pull("w", 2, 0, [queue], ends)


@pytest.mark.parametrize("limit", [1, 2, 5, 10])
async def test_each_list_has_each_item_once_by_pages_of_any_size(redis_settings: RedisSettings, limit: int) -> None:
    async with site(redis_settings) as here:
        await five_of_each(here, redis_settings.queue)
        for path, items, name in LISTS:
            whole = (await here.program.get(f"{API}{path}", params={"limit": 500})).json()
            wanted = [each[name] for each in whole[items]]
            assert len(wanted) >= 5, (path, whole)
            assert whole["cursor"] == ""
            found, cursor, pages = list[str](), "", 0
            while pages == 0 or cursor:
                answer = await here.program.get(f"{API}{path}", params={"limit": limit, "cursor": cursor})
                page = answer.json()
                assert answer.status_code == 200, page
                assert len(page[items]) <= limit, path
                found += [each[name] for each in page[items]]
                cursor, pages = page["cursor"], pages + 1
            assert (found if path != "/tasks" else sorted(found)) == (wanted if path != "/tasks" else sorted(wanted)), (
                path
            )
            assert pages <= len(wanted) // limit + 1, path
