"""Values that JSON can spell and few expect: no page, no answer and no agent fails for one or for a list with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest

from holdfast import Handlers, Reject, Task
from holdfast.app import create_broker
from holdfast.core.task_states import TERMINAL
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.web.api.operations import OPERATIONS
from holdfastd.web.application import PAGES
from tests.web.handlers import settings_of
from tests.web.site import HTML, Site, site
from tests.web.test_pages import push

pytestmark = pytest.mark.anyio


def _mixed(depth: int) -> str:
    """Lists, objects and texts that are JSON, one in the other."""
    value: Any = "invoice"
    for number in range(depth):
        value = ([value], {"a": value}, json.dumps(value))[number % 3 if number < 24 else number % 2]
    return json.dumps(value)


ODD = {
    "surrogate": r'"\ud800 invoice \udfff"',
    "nul": r'"a\u0000invoice\u001b[31m"',
    "huge integer": "9" * 4000,
    "too huge integer": "9" * 5000,
    "huge float": "1e999",
    "not a number": "NaN",
    "infinity": "[Infinity, -Infinity]",
    "twice": '{"a": 1, "a": {"invoice": 2}}',
    "odd keys": r'{"\ud800": 1, "\u0000": 2, "": 3, "***": 4, "a\u200b": 5, "a": 6}',
    "mixed": _mixed(60),
    "deep texts": json.dumps("\\" * 9000 + '"invoice"' * 900),
    "long": json.dumps("invoice " * 60_000),
    "wide": json.dumps(dict.fromkeys(map(str, range(40_000)), 1)),
}
ENTRY = (
    '{{"operation": "run", "params": {{"task_id": "{0}", "metadata": {{"a": {1}}}, "message": {{"message_id": "m-{0}",'
    ' "role": "user", "parts": [{{"kind": "text", "text": {2}}}, {{"kind": "data", "data": {{"a": {1}}}}}],'
    ' "metadata": {{"a": {1}}}}}}}}}'
)
RETURNED: dict[str, Any] = {
    "surrogate": {"\ud800": "\udfff invoice"},
    "not a number": [float("nan"), float("inf")],
    "huge integer": 10**4000,
    "nul": "\0invoice\x1b",
    "twice": {1: 2, "1": 3, None: 4},
    "infinity": {"a": {(1, 2): 3}},
}
READING = [each.path for each in OPERATIONS if each.method == "GET" and "{" not in each.path and each.path != "/doctor"]
QUERIES = ("", "?text=invoice", "?text=%ED%A0%80", "?text=%00%22%5Cud800", "?limit=99999999999999999999")


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER])
async def test_no_page_no_answer_and_no_agent_fails(redis_settings: RedisSettings, role: Role) -> None:
    """Viewers see errors, operators results."""
    handlers: Handlers[Any, Any] = Handlers()

    @handlers.default
    async def handle(messages: list[dict[str, Any]], task: Task) -> Any:
        text, data = messages[-1]["parts"][0]["text"], messages[-1]["parts"][1]["data"]
        returned = RETURNED.get(task.task_id, data)
        task.checkpoint(data)
        if role is Role.VIEWER:
            raise Reject(f"{text} {returned}")
        return returned

    for name, value in ODD.items():
        await push(redis_settings, ENTRY.format(name, value, json.dumps(value)))
    await push(redis_settings, ENTRY.format("innocent", '"invoice 7"', '"invoice 7"'))
    async with site(redis_settings, role, web_a2a=True) as here:
        async with create_broker(settings_of(redis_settings)) as broker, broker.working(handlers):
            with anyio.fail_after(60):
                while await _ended(here) < len(ODD) + 1:  # noqa: ASYNC110 - of a worker
                    await anyio.sleep(0.01)
        for address in _addresses():
            answer = await here.browser.get(address, headers={} if "/api/" in address else HTML)
            assert answer.status_code < 500, address
            if "/api/" in address:
                _read(answer)
            assert "innocent" in answer.text or not address.endswith("/tasks?text=invoice"), address
        asked = [
            ("ListTasks", {"includeArtifacts": True, "historyLength": 9}),
            *(("GetTask", {"id": name}) for name in ODD),
        ]
        for method, params in asked:
            call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = await here.program.post("/a2a/", json=call, headers={"a2a-version": "1.0"})
            assert "result" in _read(answer) or _read(answer)["error"]["code"] == -32001, (method, params)


async def _ended(here: Site) -> int:
    """Tasks that have ended, and entries that nobody can read."""
    return await here.manager.count_tasks(*TERMINAL) + len(await here.store.unreadable(99))


def _addresses() -> Iterator[str]:
    for task in map(quote, ODD):
        yield from (f"/task?id={task}", f"/submit?task={task}", f"/api/v1/tasks/{task}", f"/api/v1/tasks/{task}/why")
    for path in (*(f"/api/v1{path}" for path in READING if path != "/events"), *(route.path for route in PAGES)):
        yield from (f"{path}{query}" for query in QUERIES)


def _read(answer: httpx.Response) -> Any:
    return json.loads(answer.content.decode(), parse_constant=_refused)


def _refused(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
