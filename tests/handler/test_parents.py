"""Results of parents as a handler meets them: `task.parents`."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Handlers, Reject, Task, create_broker
from holdfast.core.outcomes import ParentResult
from holdfast.core.task_states import State
from holdfast.errors import ParentResultError

pytestmark = pytest.mark.anyio

WITHIN = 30.0  # seconds

handlers = Handlers()


@handlers.register("give")
async def give(value: Any = None) -> Any:
    return value


@handlers.register("refuse")
async def refuse(why: str) -> None:
    raise Reject(why)


@handlers.register("collect")
async def collect(task: Task) -> list[list[Any]]:
    return [[parent.task_id, str(parent.state), parent.value] for parent in task.parents.values()]


@handlers.register("collect sync")
def collect_sync(task: Task) -> dict[str, Any]:
    return {task_id: parent.error and parent.error.message for task_id, parent in task.parents.items()}


async def test_a_handler_has_the_results_of_the_parents_in_the_order_of_after() -> None:
    values = {"text": "page", "none": None, "number": 7, "list": [1, {"a": None}]}
    async with create_broker(type="memory") as broker, broker.working(handlers):
        for task_id, value in values.items():
            await give.options(task_id=task_id).submit(value)
        order = ["number", "text", "list", "none"]
        child = await collect.options(after=order).submit()
        record = await child.wait(WITHIN, raise_failed=True)
        assert record.value == [[task_id, "completed", values[task_id]] for task_id in order]
        alone = await collect.submit()
        assert (await alone.wait(WITHIN, raise_failed=True)).value == []


async def test_a_child_that_runs_in_any_case_has_the_errors_of_its_parents() -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        await give.options(task_id="ends").submit(1)
        await refuse.options(task_id="refuses").submit("no such page")
        child = await collect_sync.options(after=["ends", "refuses"], if_parent_fails="run").submit()
        record = await child.wait(WITHIN, raise_failed=True)
        assert record.value == {"ends": None, "refuses": "no such page"}


async def test_a_value_that_was_not_read_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with create_broker(type="memory") as broker, broker.working(handlers):
        sent = [await give.submit("x" * (1 << 19)) for _ in range(40)]
        child = await collect.options(after=[one.task_id for one in sent], max_attempts=1).submit()
        record = await child.wait(WITHIN)
        assert record.error is not None
        assert record.error.type == "holdfast.errors.ParentResultError"
        assert f"parent {sent[32].task_id}: its result of 524" in record.error.message


def test_a_parent_that_has_not_ended_is_named() -> None:
    with pytest.raises(ParentResultError, match=r"^parent p: it has not ended: it is working$"):
        _ = ParentResult("p", State.WORKING, has_ended=False).value
