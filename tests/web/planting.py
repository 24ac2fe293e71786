"""A queue that has something of each kind, with a planted text in every field, and all addresses that show it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import anyio
import pytest

from holdfast import Handlers, Task
from holdfast.app import create_broker
from holdfast.client.bulk_steps import asked_change
from holdfast.client.task_filter import TaskFilter
from holdfast.client.task_spec import TaskSpec
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.delivery import Holding, Settle, Settlement
from holdfast.core.task_states import State
from holdfast.core.worker_records import Introduction
from holdfast.os.stack_file import Stacks
from holdfast_config import RedisSettings
from holdfastd.control.local_supervisor import Found, LocalSupervisor
from holdfastd.control.socket_protocol import Deaths, DeathStatus, ProcessStatus, StoreStatus, SupervisorStatus
from holdfastd.web.api.endpoint import PREFIX
from holdfastd.web.api.operations import OPERATIONS
from holdfastd.web.application import PAGES
from tests.web.handlers import publish, settings_of
from tests.web.site import Site
from tests.web.test_bulk import ended
from tests.web.test_pages import push

WORKER = "w-1"
VERBS = ("tells", "fails", "asks", "answers")
HAS_ENDED = {State.COMPLETED, State.FAILED, State.REJECTED, State.INPUT_REQUIRED}


@dataclass(frozen=True)
class Planting:
    """`name`: of lanes, handlers, schedules, hosts, who …; `text`: where words are written; `document`: where JSON is;
    `webhook`: an address."""

    name: str
    text: str
    document: Mapping[str, Any]
    webhook: str

    @property
    def handlers(self) -> Handlers[Any, Any]:
        found: Handlers[Any, Any] = Handlers()
        error = type(self.name, (Exception,), {})

        async def tells(task: Task, text: str, password: str = self.text, **more: Any) -> Any:
            await task.step(self.name, lambda: {**self.document, "text": text})
            await task.emit(self.document)
            await task.emit(text)
            task.checkpoint({**self.document, "text": text})
            return {**self.document, "text": text, "password": password}

        async def fails(text: str, **more: Any) -> None:
            raise error(text)

        async def asks(task: Task, text: str, **more: Any) -> Any:
            return await task.question(text)

        found.register(f"tells {self.name}", max_attempts=1)(tells)
        found.register(f"fails {self.name}", max_attempts=1)(fails)
        found.register(f"asks {self.name}")(asks)
        found.register(f"answers {self.name}")(asks)
        return found


def supervise(monkeypatch: pytest.MonkeyPatch, given: Planting) -> None:
    """A supervisor of this host has a worker, which has written its stacks, and another that died."""
    worker = ProcessStatus("worker", 0, 7, WORKER, "live", 1.0, [given.name], 0, 0, 1, 0.0)
    died = DeathStatus(1.0, "worker", 1, 8, "w-0", "boot", given.text, running=[given.name])
    store = StoreStatus(given.webhook, embedded=False)
    status = SupervisorStatus(
        *("0.1.0", 6, given.name, 1.0, 1, 1, given.text, given.text, 1, False, store, [worker], Deaths(1, [died]))
    )

    async def stacks(self: LocalSupervisor, incarnation: str) -> Stacks:
        return Stacks(given.text, [])

    async def find(self: LocalSupervisor) -> Found:
        return Found(Path("run"), status)

    monkeypatch.setattr(LocalSupervisor, "stacks", stacks)
    monkeypatch.setattr(LocalSupervisor, "find", find)


async def plant(here: Site, redis: RedisSettings, given: Planting) -> None:
    await _tasks(here, redis, given)
    await _batch(here, given)
    await _worker(here, redis, given)
    await _orders(here, given)
    await _schedule(here, given)
    await here.store.note_activity(Activity(given.name, given.name, given.name, given.name, given.text, given.name))
    for states in (list[State](), [State.SUBMITTED, State.DELAYED]):
        who: dict[str, str] = {"who": given.name, "origin": given.name}
        change = asked_change(BulkVerb.CANCEL, TaskFilter(state=states, lane=given.name, text=given.text), **who)
        await here.store.begin_bulk(replace(change, reason=given.text))
    await here.change("/bulk/begin", verb="cancel", text=given.text)
    await ended(here)


async def _tasks(here: Site, redis: RedisSettings, given: Planting) -> None:
    shared: dict[str, Any] = {"metadata": given.document, "context_id": given.name}
    for verb in VERBS:
        kwargs = {"text": given.text, **given.document}
        await here.manager.run_task(name=f"{verb} {given.name}", kwargs=kwargs, task_id=verb, **shared)
    async with create_broker(settings_of(redis)) as broker, broker.working(given.handlers):
        for verb in VERBS:
            await _turn_has_ended(here, verb)
        await here.manager.resume_task("answers", given.text, data=given.document)
        with anyio.fail_after(60):
            while (await here.manager.get_task("answers")).state is not State.COMPLETED:  # noqa: ASYNC110 - of a worker
                await anyio.sleep(0.01)
    await publish(redis, given.handlers)
    await here.manager.run_task(given.text, data=given.document, task_id="waits", **shared)
    await here.manager.pause_task("waits", given.text)
    await here.manager.cancel_task("waits", given.text)  # a stream of it ends
    await here.manager.run_task(given.text, task_id="hooked", webhook=given.webhook)
    await here.manager.cancel_task("hooked", given.text)


async def _turn_has_ended(here: Site, task_id: str) -> None:
    with anyio.fail_after(60):
        while (await here.manager.get_task(task_id)).state not in HAS_ENDED:  # noqa: ASYNC110 - of a worker
            await anyio.sleep(0.01)


async def _batch(here: Site, given: Planting) -> None:
    first = TaskSpec(text=given.text, lane=given.name)
    then = TaskSpec(name=f"tells {given.name}", kwargs={"text": given.text, **given.document}, metadata=given.document)
    await here.manager.run_tasks([first], batch="batch", then=then)
    await here.change("/batches/cancel", batch="batch", reason=given.text)


async def _worker(here: Site, redis: RedisSettings, given: Planting) -> None:
    """A worker that runs a task, and has set aside what nobody and what it alone cannot read."""
    await here.store.register(Introduction(WORKER, f"host{given.name}", given.name, 7, 0))
    for task_id in ("runs", "torn"):
        await here.manager.run_task(given.text, task_id=task_id)
    await push(redis, given.text)
    await push(redis, json.dumps({"operation": given.text, **given.document}))
    runs, torn = (await here.store.pull(WORKER, 1, 50, [redis.queue], [])).deliveries
    await here.store.renew(WORKER, "live", 1, [Holding(runs.task_id, runs.claim, given.text)])
    unreadable = Settlement(torn.task_id, torn.claim, Settle.UNREADABLE, reason=given.text)
    await here.store.pull(WORKER, 2, 0, [redis.queue], [unreadable])
    assert len(await here.store.unreadable(10)) == 3


async def _orders(here: Site, given: Planting) -> None:
    await here.manager.pause_queue(given.name, given.text)
    await here.change("/hosts/quiet", create="true", host=f"host{given.name}", reason=given.text)


async def _schedule(here: Site, given: Planting) -> None:
    await here.manager.schedules.upsert(
        given.name,
        name=f"tells {given.name}",
        kwargs={"text": given.text, **given.document},
        cron="0 3 * * *",
        owner=given.name,
    )
    await here.manager.schedules.run(given.name)
    await here.manager.schedules.pause(given.name, given.text)


async def page_addresses(here: Site, given: Planting) -> list[str]:
    """Each page of the application, as it is and with all that its query may name."""
    tasks = [*VERBS, "waits", "hooked", "runs", "batch.1", given.name]
    entries = [each.address for each in await here.store.unreadable(10)]
    values: dict[str, list[str]] = {
        "id": [*tasks, "batch"],
        "name": [f"{verb} {given.name}" for verb in VERBS] + [given.name],
        "task": ["tells", given.name],
        "address": entries,
        "worker": [given.name],
        "who": [given.name],
        "verb": ["cancel"],
    }
    queries = [urlencode({name: value}) for name, all_of in values.items() for value in all_of]
    return [f"{route.path}?{query}" for route in PAGES for query in ("", *queries)]


async def api_addresses(here: Site, given: Planting) -> Iterator[str]:
    """Each operation that reads, with all that its path may name."""
    fields: dict[str, list[str]] = {
        "task_id": [*VERBS, "waits", "hooked", "batch.1"],  # all have ended, as do streams of them
        "lane": [given.name],
        "schedule_id": [given.name],
        "batch": ["batch"],
        "address": [each.address for each in await here.store.unreadable(10)],
        "change_id": [each.change_id for each in await here.store.bulk_changes(10)],
        "verb": ["cancel"],
    }
    reading = [operation for operation in OPERATIONS if operation.method == "GET"]
    return (
        PREFIX.rstrip("/") + operation.path.format(**dict(zip(operation.fields, map(_segment, values), strict=True)))
        for operation in reading
        for values in product(*(fields[name] for name in operation.fields))
    )


def _segment(value: str) -> str:
    return quote(value, safe="")
