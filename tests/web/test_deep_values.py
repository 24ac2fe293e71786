"""Values that are nested as deeply as a decoder takes: their pages say so, and no page and no list fails."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from holdfast import Handlers
from holdfast.app import create_broker
from holdfast.core.task_states import TERMINAL
from holdfast_config import RedisSettings
from holdfastd.web.queue.redaction import TOO_DEEP
from tests.web.handlers import settings_of
from tests.web.site import HTML, site
from tests.web.test_pages import push

pytestmark = pytest.mark.anyio

ENTRY = (
    '{{"operation": "run", "params": {{"task_id": "{0}", "message": {{"message_id": "m-{0}", "role": "user", "parts":'
    ' [{{"kind": "text", "text": "{1}"}}, {{"kind": "data", "data": {2}}}]}}}}}}'
)
ADDRESSES = (
    *("/task?id={}", "/api/v1/tasks/{}", "/api/v1/tasks/{}/why", "/submit?task={}", "/tasks", "/tasks?text=invoice"),
    *("/api/v1/tasks", "/api/v1/tasks?text=invoice", "/events", "/dead", "/"),
)


@pytest.mark.parametrize("depth", [101, 130, 600, *range(900, 980, 5)])
async def test_no_page_and_no_list_fails_for_a_deep_value(redis_settings: RedisSettings, depth: int) -> None:
    handlers: Handlers[Any, Any] = Handlers()

    @handlers.default
    async def handle(messages: list[dict[str, Any]]) -> Any:
        return messages[-1]["parts"][1]["data"]

    text, data = "[" * depth + "invoice" + "]" * depth, "[" * depth + '{"invoice": 1}' + "]" * depth
    await push(redis_settings, ENTRY.format("deep", text, data))
    await push(redis_settings, ENTRY.format("innocent", "invoice 7", "{}"))
    async with site(redis_settings) as here:
        async with create_broker(settings_of(redis_settings)) as broker, broker.working(handlers):
            with anyio.fail_after(60):
                for task in ("deep", "innocent"):
                    await _has_ended(here.manager, task)
        for address in ADDRESSES:
            answer = await here.browser.get(address.format("deep"), headers={} if "/api/" in address else HTML)
            assert answer.status_code < 500, address
            assert "innocent" in answer.text or "text=invoice" not in address
        assert TOO_DEEP in (await here.browser.get("/api/v1/tasks/deep")).text or not 120 < depth < 930


async def _has_ended(manager: Any, task_id: str) -> None:
    while task_id not in [task.task_id for task in (await manager.list_tasks(*TERMINAL)).tasks]:  # noqa: ASYNC110 - of a worker
        await anyio.sleep(0.01)
