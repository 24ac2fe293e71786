"""Webhooks that a steward takes from the outbox are its own for as long as it may take to tell them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any, cast

import anyio
import pytest
from structlog.testing import capture_logs

from holdfast.core.conversations import About
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.webhook_notice import Answered, Notice, Room
from holdfast_config import Settings
from holdfastd.a2a.agent_task import PushTarget, spelled_targets
from holdfastd.steward.duties.webhook_duties import Webhooks
from holdfastd.steward.receivers import AT_ONCE, PROMPT, TOLD_EVERY, UNPROVEN_AT_ONCE, UNPROVEN_SHARE, Receivers
from holdfastd.steward.webhook_post import BusyError, MissedError, NoticeDelivery, Poster, RefusedError
from tests.faults.webhooks import receiver as webhook_receiver
from tests.lua.operations import run
from tests.why.test_story import TASK

pytestmark = pytest.mark.anyio

TIMEOUT = 7.0  # seconds
GOOD = "good.example:443"


class Outbox:
    """`waiting`: of tasks that are gone. It remembers for how long webhooks were taken, and what is done."""

    def __init__(self, *waiting: Notice) -> None:
        self.waiting = list(waiting)
        self.come, self.goes_on, self.was_done = anyio.Event(), anyio.Event(), anyio.Event()
        self.leases_ms: list[int] = []
        self.urls: list[str] = []
        self.done: list[tuple[str, int | None]] = []

    async def set_webhook(self, url: str) -> None:
        self.urls.append(url)

    async def take_notices(self, limit: int, lease_ms: int, _: Room) -> tuple[list[Notice], int | None]:
        self.leases_ms.append(lease_ms)
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken, None

    async def wait_notices(self, _: float) -> bool:
        await self.come.wait()
        self.come = anyio.Event()
        return True

    async def get(self, task_id: str) -> None:
        if task_id == "slow":
            await self.goes_on.wait()

    async def notice_done(self, name: str, _: str = "", at_ms: int | None = None) -> bool:
        self.done.append((name, at_ms))
        self.was_done.set()
        return True


async def test_a_webhook_is_taken_for_longer_than_a_try_may_take() -> None:
    outbox = Outbox()
    await Webhooks(cast("Any", outbox), Settings(webhook_timeout=TIMEOUT)).run_once()
    assert len(outbox.leases_ms) == 1
    assert outbox.leases_ms[0] > TIMEOUT * 1000


async def test_no_log_line_has_the_secrets_in_the_url_of_the_webhook() -> None:
    outbox = Outbox()
    url = "https://example.org/hooks/hunter2?key=hunter3"
    with capture_logs() as lines:
        await Webhooks(cast("Any", outbox), Settings(webhook_url=url)).run_once()
    assert [line["event"] for line in lines] == ["the webhook of the queue was set"]
    assert "example.org" in str(lines)
    assert "hunter" not in str(lines)
    assert outbox.urls == [url]


async def test_a_webhook_is_done_as_of_the_moment_that_it_told_of() -> None:
    outbox = Outbox(notice("t", 77))
    await Webhooks(cast("Any", outbox), Settings()).run_once()
    assert outbox.done == [("t|1|working", 77)]


async def test_a_receiver_that_answers_slowly_keeps_no_other_waiting() -> None:
    outbox = Outbox(notice("slow"))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(Webhooks(cast("Any", outbox), Settings()).run_once)
            await anyio.wait_all_tasks_blocked()
            outbox.waiting.append(notice("fast"))
            outbox.come.set()
            await outbox.was_done.wait()
            assert outbox.done == [("fast|1|working", 1)]
            outbox.goes_on.set()
    assert [name for name, _ in outbox.done] == ["fast|1|working", "slow|1|working"]


async def test_so_many_are_posted_at_once_and_no_more() -> None:
    outbox = Outbox(*(notice("slow") for _ in range(AT_ONCE + 3)))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(Webhooks(cast("Any", outbox), Settings()).run_once)
            await anyio.wait_all_tasks_blocked()
            assert len(outbox.waiting) == 3
            outbox.goes_on.set()
    assert (len(outbox.done), outbox.waiting) == (AT_ONCE + 3, [])


def notice(task_id: str, at_ms: int = 1) -> Notice:
    return Notice(f"{task_id}|1|working", task_id, 1, "working", "https://example.org", at_ms, 1)


class Answers:
    """A store that remembers what it is told of receivers."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Answered]] = []

    async def note_receiver(self, receiver: str, answered: Answered) -> None:
        self.told.append((receiver, answered))


class Posts:
    """In place of the network: a post to `silent` never ends, of all others it is told."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def post(self, notice: Notice, _: bytes, __: object) -> None:
        if notice.receiver == "silent.example:443":
            await anyio.sleep_forever()
        self.ended.append(notice.url)


class Pushed(Answers):
    """And of a task that two clients of the agent want to be told of: one is there, the other is silent."""

    async def get(self, task_id: str) -> TaskRecord:
        return replace(TASK, task_id=task_id, state=State.COMPLETED, operation=run(task_id))

    async def push(self, _: str) -> bytes:
        urls = ("https://good.example/told", "https://silent.example/told")
        return spelled_targets([PushTarget(url, url) for url in urls])

    async def about(self, _: str) -> About:
        return About()


def receivers_of(store: object, clock: Callable[[], float] = lambda: 0.0) -> Receivers:
    return Receivers(cast("Any", store), clock)


async def test_a_receiver_is_prompt_from_its_first_answer_until_it_is_slow_or_misses() -> None:
    store, now = Answers(), [0.0]
    receivers = receivers_of(store, lambda: now[0])
    for seconds, after, words in (
        (0.1, 0.0, [Answered.PROMPT]),
        (0.1, TOLD_EVERY / 2, []),
        (0.1, TOLD_EVERY, [Answered.PROMPT]),
        (PROMPT + 1, TOLD_EVERY, [Answered.SLOW]),
        (0.1, TOLD_EVERY, [Answered.PROMPT]),
        (None, TOLD_EVERY, [Answered.MISSED]),
        (None, TOLD_EVERY, [Answered.MISSED]),
    ):
        now[0] = after
        await receivers.note("a:80", seconds)
        assert store.told == [("a:80", word) for word in words]
        store.told.clear()


async def test_a_silent_client_of_a_task_holds_no_place_of_another_client() -> None:
    """Each task has two, of which one is silent: the other has its place back, and the silent one has its share."""
    store, posts = Pushed(), Posts()
    receivers = receivers_of(store)
    busy: list[str] = []

    async def deliver(task_id: str) -> None:
        told = replace(
            notice(task_id), state="completed", url="https://good.example/told", receiver=GOOD, is_prompt=True
        )
        place = receivers.begin(told)
        try:
            await NoticeDelivery(cast("Any", store), cast("Any", posts), receivers, place).deliver(told)
        except BusyError:
            busy.append(task_id)
        finally:
            receivers.end(place)

    async with anyio.create_task_group() as group:
        for n in range(UNPROVEN_SHARE + 3):
            group.start_soon(deliver, f"t{n}")
            await anyio.wait_all_tasks_blocked()
        assert busy == [f"t{n}" for n in range(UNPROVEN_SHARE, UNPROVEN_SHARE + 3)]
        assert posts.ended == ["https://good.example/told"] * UNPROVEN_SHARE
        assert (receivers.number, dict(receivers.room.busy)) == (UNPROVEN_SHARE, {"silent.example:443": UNPROVEN_SHARE})
        assert receivers.room.unproven == UNPROVEN_AT_ONCE - UNPROVEN_SHARE
        group.cancel_scope.cancel()
    assert (receivers.number, dict(receivers.room.busy), receivers.room.unproven) == (0, {}, UNPROVEN_AT_ONCE)


@pytest.mark.parametrize("refused", ["https://good.example/told", "https://silent.example/told"])
async def test_a_receiver_that_is_refused_gives_up_no_notice_that_another_has_missed(refused: str) -> None:
    class Failing:
        async def post(self, notice: Notice, *_: object) -> None:
            raise (
                RefusedError("no public address") if notice.url == refused else MissedError("the receiver answered 500")
            )

    store = Pushed()
    receivers = receivers_of(store)
    told = replace(notice("t"), state="completed", url=refused, receiver=GOOD)
    with pytest.raises(MissedError):
        await NoticeDelivery(cast("Any", store), cast("Any", Failing()), receivers, receivers.begin(told)).deliver(told)


async def test_name_servers_that_do_not_answer_hold_up_no_other_name() -> None:
    """Many more lookups than an event loop has threads for."""
    answer = Event()

    def lookup(host: str, port: int, **_: Any) -> list[Any]:
        if host == "slow.example":
            answer.wait()
        return [(0, 0, 0, "", ("127.0.0.1", port))]

    poster = Poster(None, True, 3600.0, lookup)
    with webhook_receiver() as ear:
        fast = replace(notice("fast"), url=ear.url.replace("127.0.0.1", "fast.example"))
        try:
            with anyio.fail_after(20):
                async with anyio.create_task_group() as group:
                    for _ in range(AT_ONCE - 1):
                        group.start_soon(poster.post, replace(notice("slow"), url="http://slow.example/"), b"{}")
                    await anyio.wait_all_tasks_blocked()
                    await poster.post(fast, b"{}")
                    group.cancel_scope.cancel()
        finally:
            answer.set()


async def test_a_notice_of_which_a_receiver_has_no_place_waits_and_has_had_no_try() -> None:
    class Full(Outbox, Pushed):
        later: list[tuple[str, bool]]

        def __init__(self, *waiting: Notice) -> None:
            Outbox.__init__(self, *waiting)
            self.told, self.later = [], []

        get = Pushed.get

        async def notice_later(self, name: str, _: int, why: str = "", *, untried: bool = False) -> None:
            assert not why
            self.later.append((name, untried))

    outbox = Full(replace(notice("t"), name="t|1|completed", state="completed", receiver=GOOD))
    webhooks = Webhooks(cast("Any", outbox), Settings())
    webhooks.receivers.begin(replace(notice("x"), receiver="silent.example:443"))
    webhooks.receivers.begin(replace(notice("y"), receiver="silent.example:443"))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(webhooks.run_once)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert outbox.later == [("t|1|completed", True)]
