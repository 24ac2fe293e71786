"""The stage of a fault test: a server, a pool on it, and what the test says and hears through the store.

    async with stage(folder, workers=2) as scene: ...

When the block ends the pool is stopped, and the books are checked: no process left, nothing lost, nothing twice.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import redis

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.acceptance import Accepted, Submission, SubmitOptions
from holdfast.core.counts import Counts
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from holdfastd.doctor.store_checks import judge_queue
from tests.faults import ledger
from tests.faults.process import PATIENCE, Pool
from tests.faults.proxy import Proxy
from tests.faults.work import QUEUE, submission
from tests.lua.history import apart
from tests.servers import Server, serve

EVENTS = f"{{{QUEUE}}}:events"
LONG_DRAIN = 50.0  # seconds; a tenth of it is left for what is canceled
PATIENT = SubmitRetries()  # the test's own connections break with a store that is restarted

Event = dict[str, str]


class Group(Protocol):
    """Several servers that serve as one."""

    @property
    def url(self) -> str: ...

    def read(self, after: dict[str, str], milliseconds: int) -> Any:
        """XREAD, whichever of them has the stream by then."""


@dataclass(slots=True)
class Scene:
    """`server`: none where the pool has its own embedded store; `between`: what stands before it, if asked for.

    With a `group` of servers the pool's store is there, and tests and handlers speak through one server beside it."""

    folder: Path
    url: str
    pool: Pool
    store: RedisStore
    client: Any  # redis.Redis: its own types describe no answer
    flags: dict[str, Any]
    servers: ExitStack
    server: Server | None = None
    between: Proxy | None = None
    group: Group | None = None
    stopped: bool = False
    again: str = ""  # what the names of tasks end in, where a test is tried once more on a stage that knows them
    _events: list[Event] = field(default_factory=list[Event])
    _after: str = "0-0"

    async def submit(self, *task_ids: str, text: str = "echo", **options: Any) -> None:
        answers = await self.store.submit([submission(task_id + self.again, text, **options) for task_id in task_ids])
        assert set(answers) == {Accepted.NEW}

    async def submit_on(self, task_id: str, options: SubmitOptions, text: str = "echo") -> None:
        (receipt,) = await self.store.submit_with_options([submission(task_id + self.again, text, options=options)])
        assert receipt.accepted is Accepted.NEW

    def started(self, task_id: str) -> list[int]:
        """Waits for the next run of this task: its delivery, its process id, what else it told."""
        popped = self.client.blpop([f"run:{task_id}{self.again}"], timeout=PATIENCE)
        assert popped, f"{task_id} was not started\n{self.pool.log_text()}"
        return [int(word) for word in popped[1].split()]

    def go(self, *task_ids: str) -> None:
        for task_id in task_ids:
            self.client.rpush(f"go:{task_id}{self.again}", "1")

    def held(self, task_id: str) -> None:
        """Waits until a handler holds its event loop for this task: its connection is blocked."""
        until = time.monotonic() + PATIENCE
        while not any(each["name"] == f"hold:{task_id}" and "b" in each["flags"] for each in self.client.client_list()):
            assert time.monotonic() < until, f"{task_id} does not wait\n{self.pool.log_text()}"
            time.sleep(0.01)

    def runs(self, task_id: str) -> int:
        """How often a handler was started with this task."""
        return int(self.client.hget("runs", task_id + self.again) or 0)

    def happened(self, event: str, task_id: str, times: int = 1) -> Event:
        """Waits until this has happened so often to this task."""
        wanted = (event, task_id + self.again)
        while len(found := [e for e in self._events if (e["event"], e["id"]) == wanted]) < times:
            assert self.news(PATIENCE), f"never happened: {event} of {task_id}\n{self.pool.log_text()}"
        return found[times - 1]

    async def settled(self, *task_ids: str) -> list[TaskRecord]:
        """These tasks once each has ended."""
        for task_id in task_ids:
            self.happened("settled", task_id)
        return [await self.record(task_id) for task_id in task_ids]

    async def completed(self, task_id: str) -> TaskRecord:
        (record,) = await self.settled(task_id)
        assert record.state is State.COMPLETED, record
        return record

    async def ran_once(self, *task_ids: str) -> None:
        """Waits until these have completed, each in the one delivery that began: no crash, no release. What a worker
        says to have given back before it began is a delivery and no run; what it lost without a word may have run."""
        records = await self.settled(*task_ids)
        returned = Counter(each["id"] for each in self.heard("returned") if each["detail"].partition(" ")[2])
        for record in records:
            begun = record.deliveries - returned[record.task_id]
            assert (record.state, begun, record.crashes, record.releases) == (State.COMPLETED, 1, 0, 0), record

    async def record(self, task_id: str) -> TaskRecord:
        record = await PATIENT.call(self.store.get, task_id + self.again)
        assert record, f"no task {task_id}"
        return record

    async def counts(self) -> Counts:
        return await PATIENT.call(self.store.counts)

    def restart(self, **flags: object) -> Pool:
        """Another start on the same folders; these flags differ."""
        self.pool.close()
        self.pool = Pool(self.folder, self.url, **{**self.flags, **flags})
        self.stopped = False
        return self.pool

    @property
    def proxy(self) -> Proxy:
        assert self.between, "a stage without a proxy"
        return self.between

    def rests(self, workers: int = 1) -> None:
        """Waits until so many workers listen for bells: what they do next comes of what is done now."""
        for _ in range(round(PATIENCE / 0.02)):
            if sum(row["cmd"] == "blpop" and "b" in row["flags"] for row in self.client.client_list()) >= workers:
                return
            self.news(0.02)
        raise AssertionError(f"nobody listens\n{self.pool.log_text()}")

    def signal_server(self, number: int) -> None:
        assert self.server, "an embedded store is the pool's own"
        os.kill(self.server.pid, number)

    def serve_again(self, *options: str) -> None:
        """Another server on the data of the killed one."""
        self.server = self.servers.enter_context(serve(self.folder / "server", *options))

    def stop(self) -> int:
        self.stopped = True
        return self.pool.stop()

    def cut_short(self) -> int:
        """Stops it with a second signal, which cancels handlers at once: a long drain leaves them time to let go."""
        self.pool.send()
        self.pool.until("draining")
        self.pool.send()
        return self.ended()

    def ended(self) -> int:
        self.stopped = True
        return self.pool.ended()

    def news(self, within: float) -> list[Event]:
        """The events since this was last asked; waits for the first at most so many seconds."""
        wanted, milliseconds = {EVENTS: self._after}, max(1, round(within * 1000))
        answer = self.group.read(wanted, milliseconds) if self.group else self.client.xread(wanted, block=milliseconds)
        fresh: list[tuple[str, Event]] = answer[0][1] if answer else []
        if fresh:
            self._after = fresh[-1][0]
        events = [dict(event) for event in apart(event for _, event in fresh)]
        self._events += events
        return events

    def heard(self, event: str) -> list[Event]:
        """The events so far, as far as they were read."""
        return [each for each in self._events if each["event"] == event]

    async def set_back(self, running: Submission) -> None:
        """The store is as it was before this task, which runs since: it has lost what came after."""
        with redis.Redis.from_url(self.url) as raw:
            client: Any = raw
            earlier = {key: client.dump(key) for key in client.scan_iter(f"*{QUEUE}*")}
            await self.store.submit([running])
            self.started(running.task_id)
            self.happened("claimed", running.task_id)
            with client.pipeline(transaction=True) as all_at_once:
                for key in {*earlier, *client.scan_iter(f"*{QUEUE}*")}:
                    all_at_once.delete(key)
                for key, value in earlier.items():
                    if value is not None:
                        all_at_once.restore(key, 0, value)
                all_at_once.execute()

    def bounded(self, bound: str) -> None:
        """Waits until a steward has told the store what the settings say of the queue."""
        field = f"set:{bound}:{QUEUE}"
        for _ in range(round(PATIENCE / 0.05)):
            if self.client.hexists(f"{{{QUEUE}}}:rules", field):
                return
            self.news(0.05)
        raise AssertionError(f"nobody says {field}\n{self.pool.log_text()}")

    def steward_knows_the_store(self) -> None:
        """Waits until a steward has read the name of the store's epoch: it can see a loss from then on."""
        for _ in range(round(PATIENCE / 0.05)):
            if self.client.hexists(f"{{{QUEUE}}}:meta", "epoch"):
                return
            self.news(0.05)
        raise AssertionError(f"no steward reads the epoch\n{self.pool.log_text()}")

    async def says_that_it_came_back_empty(self) -> None:
        """The log, the status and the doctor, each in its way."""
        self.pool.wait_for("the store is empty after a restart or a flush: all its data is lost")
        self.pool.until_status(lambda status: "came back empty" in status)
        assert "came back empty" in self.pool.status().degraded
        facts = await PATIENT.call(self.store.examine, [QUEUE], 0.0)
        assert facts.queue
        (finding,) = [each for each in judge_queue(facts.queue, lease=15.0) if each.look == "data"]
        assert (finding.level, "came back empty" in finding.found) == ("problem", True)

    async def check(self) -> None:
        """The books, at any moment."""
        snapshot = await PATIENT.call(self.store.snapshot)
        ledger.check(snapshot, QUEUE, self.flags["concurrency"])


@asynccontextmanager
async def stage(
    folder: Path,
    *,
    embedded: bool = False,
    server: tuple[str, ...] = (),
    program: Path | None = None,
    workers: int = 2,
    kill_at: Sequence[str] = (),
    proxied: bool = False,
    group: Group | None = None,
    **flags: object,
) -> AsyncGenerator[Scene]:
    """`server`: options of the server, `program`: what to run as one; `flags`, `kill_at`: of the pool; `proxied`: only
    the pool's connections are; `group`: where the store is, instead of that server.

    The test may stop the pool itself."""
    given: dict[str, Any] = {"workers": workers, "concurrency": 10, "queue_name": QUEUE, **flags}
    with ExitStack() as stack:
        served = between = None
        url = f"unix://{folder}/run/store.sock"
        if not embedded:
            (folder / "server").mkdir()
            served = stack.enter_context(serve(folder / "server", *server, program=program))
            given["redis_url"] = url = served.url
        if proxied:
            between = stack.enter_context(Proxy(folder / "proxy.sock", Path(url.removeprefix("unix://"))))
            given["redis_url"] = between.url
        if group is not None:
            given["redis_url"] = group.url
        pool = Pool(folder, url, kill_at, **given)
        async with open_store(RedisSettings(group.url if group else url, 10, QUEUE)) as store:
            with redis.Redis.from_url(url, decode_responses=True, socket_timeout=None) as client:
                scene = Scene(folder, url, pool, store, client, given, stack, served, between, group)
                try:
                    pool.ready(workers)
                    yield scene
                    await _close_books(scene, embedded)
                except BaseException:
                    print(scene.pool.log_text())
                    raise
                finally:
                    scene.pool.close()


async def _close_books(scene: Scene, embedded: bool) -> None:
    if embedded and not scene.stopped:
        await scene.check()
    if not scene.stopped:
        assert scene.stop() == 0
    assert scene.pool.leftovers() == []
    if not embedded:
        await scene.check()
