"""The timeout of a job's run: what is nearer to the job counts before what is farther."""

from __future__ import annotations

import json
from functools import partial

import anyio
import pytest

from holdfast.app import create_broker
from holdfast.client.manager import TaskManager
from holdfast.core.envelope import USUAL_TIMEOUT
from holdfast.errors import HandlerError
from holdfast.handler.named_handler import handler_from
from holdfast.handler.registry import settled
from holdfast.timeline import RoundRobin
from holdfast_config import Settings
from holdfast_config.lanes import Lane


class Timed(RoundRobin):
    def timeout(self, queue: str) -> float | None:
        return {"A": 5.0, "bad": -1.0}.get(queue)


def test_what_is_nearer_to_the_job_counts() -> None:
    handler = handler_from(Timed("A:A:B"), "timed")
    settings = settled(handler, Settings(lanes=(Lane("A"), Lane("B")), task_timeout=7.0), may_choose=False)
    assert (settings.timeout_of("A"), settings.timeout_of("B")) == (5.0, 7.0)
    stricter = settled(handler, Settings(lanes=(Lane("A", timeout=1.0),)), may_choose=False)
    assert (stricter.timeout_of("A"), stricter.timeout_of("B")) == (1.0, None)


def test_lanes_that_nobody_named_are_the_handlers_or_an_error() -> None:
    handler = handler_from(Timed("A:A:B"), "timed")
    assert settled(handler, Settings(), may_choose=True).lanes == (Lane("A", 2, timeout=5.0), Lane("B"))
    with pytest.raises(HandlerError, match=r"--lanes 'A=2;timeout=5,B=1'"):
        settled(handler, Settings(), may_choose=False)


@pytest.mark.parametrize("initstring", ["", "A::B", "A B", "bad"])
def test_lanes_that_cannot_be_are_refused(initstring: str) -> None:
    with pytest.raises(HandlerError, match="timed: queue_names"):
        handler_from(Timed(initstring), "timed")


@pytest.mark.anyio
async def test_what_is_usual_counts_where_nobody_says_more() -> None:
    async def endless() -> None:
        await anyio.sleep_forever()

    async with create_broker(type="memory") as broker, broker.working(endless):
        usual: dict[str, object] = {USUAL_TIMEOUT: 0.03}
        run = partial(broker.manager.run_task, "x", max_attempts=1, metadata=usual)
        assert await _reason(broker.manager, await run()) == "the handler took longer than 0.03 s"
        assert await _reason(broker.manager, await run(timeout=0.02)) == "the handler took longer than 0.02 s"


async def _reason(manager: TaskManager, task_id: str) -> str:
    record = await manager.wait(task_id, timeout=60)
    return str(json.loads(record.result or b"")["error"]["message"])
