"""`supervisor tasks follow`: the parts of a task as they come, for people and for programs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import anyio
import pytest

from holdfast.core.delivery import Delivery, EmittedBatch, Holding, Settle, Settlement
from holdfast.core.worker_records import Introduction
from holdfast.store import open_store
from holdfast_config import RedisSettings
from tests.cli.commands import Answer, Cli, clean
from tests.forked import COMMAND, popen

if TYPE_CHECKING:
    from holdfast.store import Store

pytestmark = pytest.mark.anyio

WITHIN = 60.0  # seconds, to which no test comes unless it fails


class Worker:
    """Holds task `t`, and emits for it as a handler does."""

    def __init__(self, store: Store, queue: str) -> None:
        self.store, self.queue, self.requests = store, queue, 0
        self.number = 0
        self.delivery: Delivery | None = None

    async def take(self) -> None:
        self.requests += 1
        pulled = await self.store.pull("w", self.requests, 1, [self.queue], [])
        self.delivery, self.number = pulled.deliveries[0], 0

    async def emit(self, *values: object, passed_over: int = 0) -> None:
        assert self.delivery
        first = self.number + passed_over + 1
        self.number = first + len(values) - 1
        of = self.delivery
        encoded = json.dumps(values).encode()
        await self.store.emit([EmittedBatch(of.task_id, of.claim, of.run, first, len(values), encoded)])

    async def settle(self, kind: Settle = Settle.COMPLETED, reason: str = "") -> None:
        assert self.delivery
        self.requests += 1
        end = Settlement(self.delivery.task_id, self.delivery.claim, kind, b"null", reason=reason)
        await self.store.pull("w", self.requests, 0, [self.queue], [end])


@pytest.fixture
async def worker(cli: Cli) -> AsyncIterator[Worker]:
    _, url, _, queue = cli.options
    cli("submit", "x", "--task-id", "t")
    async with open_store(RedisSettings(url, queue=queue)) as store:
        await store.register(Introduction("w", "host", "boot", 1, 0))
        made = Worker(store, queue)
        await made.take()
        yield made


async def test_progress_is_shown_and_kept(cli: Cli, worker: Worker) -> None:
    assert worker.delivery
    await worker.store.show_progress([Holding("t", worker.delivery.claim, "3/4 rows")])
    await worker.emit("word")
    await worker.settle()
    shown = await told(cli)
    assert (shown.out, shown.err) == ("word\n", "supervisor: progress: 3/4 rows\n")
    assert {"progress": {"done": 3, "total": 4, "text": "rows"}} in (await told(cli, "--json")).lines
    document = (await anyio.to_thread.run_sync(lambda: cli("tasks", "show", "t", "--json"))).document
    assert (document["progress"], document["bar"]) == ("3/4 rows", {"done": 3, "total": 4, "text": "rows"})


async def told(cli: Cli, *arguments: str) -> Answer:
    return await anyio.to_thread.run_sync(lambda: cli("tasks", "follow", "t", *arguments))


async def test_texts_are_printed_as_one_and_other_values_on_lines_of_their_own(cli: Cli, worker: Worker) -> None:
    await worker.emit("The ans", "wer\n", "is", {"tokens": 3}, 42, "", "42\x1b[2J")
    await worker.settle()
    answer = await told(cli)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == 'The answer\nis\n{"tokens": 3}\n42\n42\\x1b[2J\n'


async def test_a_later_run_a_gap_and_a_failure_are_named(cli: Cli, worker: Worker) -> None:
    await worker.emit("first")
    await worker.settle(Settle.RETRY)
    await worker.store.promote(10)
    await worker.take()
    await worker.emit("second", passed_over=2)
    await worker.settle(Settle.FAILED, "no more")
    answer = await told(cli)
    assert (answer.status, answer.out) == (1, "first\nsecond\n")
    gap, rerun, end = answer.err.splitlines()
    assert gap == "supervisor: parts 2 to 3 are not kept any more"
    assert rerun == "supervisor: run 2 begins; the parts before are of run 1"
    assert end.startswith("supervisor: task t is failed: ")


async def test_programs_have_a_document_of_each_part(cli: Cli, worker: Worker) -> None:
    await worker.emit("a", {"b": 1})
    await worker.settle()
    answer = await told(cli, "--json", "--after", "1")
    (part,) = answer.lines
    assert (part["position"], part["run"], part["value"]) == (2, 1, {"b": 1})
    assert part["at"].startswith("20")


async def test_parts_are_printed_as_they_come(cli: Cli, worker: Worker) -> None:
    words = ["tasks", "follow", "t", *cli.options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = popen(COMMAND, words, kind="commands", fork=False, cwd=cli.folder, env=clean({}), **pipes)
    try:
        with anyio.fail_after(WITHIN):
            for text in ("one ", "two ", "three"):
                await worker.emit(text)
                assert await anyio.to_thread.run_sync(process.stdout.read, len(text)) == text.encode()
            await worker.settle()
            out, _ = await anyio.to_thread.run_sync(process.communicate)
        assert (out, process.returncode) == (b"\n", 0)
    finally:
        process.kill()


async def test_an_unknown_task_is_an_error(cli: Cli) -> None:
    answer = await anyio.to_thread.run_sync(lambda: cli("tasks", "follow", "nobody"))
    assert (answer.status, answer.out) == (1, "")
    assert "no task nobody" in answer.err
