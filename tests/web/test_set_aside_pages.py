"""The pages of batches, dead letters, unreadable entries and activity: their contents and their changes."""

from __future__ import annotations

import re
from html import unescape

import pytest

from holdfast.client.task_spec import TaskSpec
from holdfast.core.activity import Activity
from holdfast.core.delivery import Settle, Settlement
from holdfast.core.task_states import State
from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings
from tests.web.handlers import working
from tests.web.site import HTML, Site, site
from tests.web.test_pages import push

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"


async def test_what_failed_in_a_batch_is_told_by_its_kind_and_found_in_the_list(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        specs = [TaskSpec(name="broken", kwargs={"why": why}) for why in ("no paper", "no paper", "no ink")]
        await here.manager.run_tasks(specs, batch="print-1")
        await here.manager.batch("print-1").wait(60)
        await here.manager.run_tasks([TaskSpec(text="x", lane="later")], batch="other-1")
        listed = await here.page("/batches?state=failed")
        assert ("print-1" in listed, "other-1" in listed, "Retry 3…" in listed) == (True, False, True)
        assert "other-1" not in await here.page("/batches?state=ended")
        assert "print-1" not in await here.page("/batches?state=open")
        assert "print-1" not in await here.page("/batches?text=other")
        assert "No batch matches" in await here.page("/batches?text=third")
        assert (await here.browser.get("/batches?state=red", headers=HTML)).status_code == 400
        shown = await here.page("/batch?id=print-1")
        assert [text in shown for text in ("Retry all 3…", "Retry 2…", "Retry 1…")] == [True] * 3
        of_kind = re.search(r'href="(/tasks/bulk[^"]*)">Retry 2…', shown)
        assert of_kind
        assert "<b>2</b> tasks<" in await here.page(unescape(of_kind[1]))


async def test_a_batch_shows_its_tasks_and_is_canceled(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="x") for _ in range(120)], batch="import-7")
        assert "import-7" in await here.page("/batches")
        shown = await here.page("/batch?id=import-7")
        assert ">50</a>" in shown, "within its batch, an id is told by its end"
        following = re.search(r'class="button" href="(/batch[^"]*cursor=[^"]*)"', shown)
        assert following
        assert ">51</a>" in await here.page(following[1])
        assert "There is none" in await here.page("/batch?id=import-7&end=failed")
        assert ">1</a>" in await here.page("/batch?id=import-7&end=open")
        await here.change("/batches/cancel", batch="import-7", reason="wrong file")
        record = await here.manager.batch("import-7").record()
        assert (str(record.state), record.counts.canceled) == ("canceled", 120)
        assert "wrong file (its batch was canceled by token" in (await here.manager.get_task("import-7.9")).reason
        (noted, *_) = await here.store.activity_before("", 10)
        assert (noted.change, noted.subject) == ("batches/cancel", "import-7")
        ended = await here.page("/batch?id=import-7&end=canceled")
        assert '<span class="label">Canceled</span><b>120</b>' in ended
        assert 'title="wrong file (its batch' in ended, "the reason of each"


async def test_a_batch_with_failures_shows_these_first(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        specs = [TaskSpec(name="broken", kwargs={"why": "x"}), TaskSpec(text="fine"), TaskSpec(text="fine")]
        await here.manager.run_tasks(specs, batch="b")
        await here.manager.batch("b").wait(60)
        shown = await here.page("/batch?id=b")
        assert "<h2>Failed tasks</h2>" in shown
        assert (">1</a>" in shown, ">2</a>" in shown) == (True, False)
        assert ">2</a>" in await here.page("/batch?id=b&end=all")


@pytest.mark.parametrize(
    ("address", "status"),
    [("id=none", 404), ("id=", 400), ("id=none&end=lost", 400), (f"id={SCRIPT}", 400)],
)
async def test_a_batch_that_is_not_there_is_a_sentence(
    redis_settings: RedisSettings, address: str, status: int
) -> None:
    async with site(redis_settings) as here:
        answer = await here.browser.get(f"/batch?{address}", headers=HTML)
        assert (answer.status_code, 'role="alert"' in answer.text) == (status, status != 404)
        assert SCRIPT not in answer.text
        assert (await here.change("/batches/seal", batch="none")).status_code == 404
        assert (await here.change("/batches/cancel", batch="none")).status_code == 404


async def test_a_sealed_batch_may_be_sealed_again(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="x")], batch="b")
        assert (await here.change("/batches/seal", batch="b")).headers["location"] == "/batch?id=b"


async def give_up(here: Site, queue: str, reason: str = "", error: str = "", worker: str = "w-1") -> None:
    """All that waits becomes dead letters, and what cannot be read is set aside."""
    await here.store.register(Introduction(worker, "host", "boot", 7, 0))
    pulled = await here.store.pull(worker, 1, 10, [queue], [])
    settlements = [
        Settlement(each.task_id, each.claim, Settle.EXHAUSTED, reason=reason, error=error) for each in pulled.deliveries
    ]
    await here.store.pull(worker, 2, 0, [queue], settlements)


async def test_dead_letters_show_their_errors_and_are_retried_or_removed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for task_id in ("a", "b"):
            await here.manager.run_task("x", task_id=task_id)
        await give_up(here, redis_settings.queue, f"billing.LimitError: no {SCRIPT}")
        shown = await here.page("/dead")
        assert '<span class="bad">Limit<wbr>Error</span>' in shown
        assert SCRIPT not in (await here.browser.get("/dead", headers=HTML)).text
        assert (await here.change("/tasks/retry", task_id="a")).status_code == 303
        assert (await here.manager.get_task("a.r1")).state is State.SUBMITTED
        assert (await here.change("/dead/remove", task_id="b")).headers["location"] == "/dead"
        assert (await here.change("/dead/remove", task_id="b")).status_code == 404
        assert "There are none" in await here.page("/dead")


async def test_activity_is_filtered_and_paged(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for number in range(130):
            who = "ada" if number % 2 else "token"
            await here.store.note_activity(Activity(who, "192.0.2.7", "tasks/cancel", f"task-{number:03}"))
        first = await here.page("/activity?who=ada&subject=task-")
        assert first.count("<b>ada</b>") == 65
        assert "<b>token</b> <small" not in first
        assert "Earlier" not in first, "all were looked at"
        assert "No such change" in await here.page("/activity?who=nobody")
        one = await here.page("/activity?subject=task-007&change=cancel")
        assert one.count("canceled task") == 1
        earlier = (await here.page("/activity")).split('class="more" href="', 1)[1].split('"', 1)[0]
        assert (await here.page(earlier)).count("canceled task") == 30


async def test_unreadable_entries_show_their_bytes_and_go_back_or_away(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        for raw in (f"{SCRIPT} \x1b[31m password=hunter2", "{not json"):
            await push(redis_settings, raw)
        await give_up(here, redis_settings.queue)
        later, first = await here.store.unreadable(10)
        text = (await here.browser.get(f"/unreadable/entry?address={first.address}", headers=HTML)).text
        for hidden in (SCRIPT, "\x1b", "hunter2"):
            assert hidden not in text
        assert "\\x1b[31m" in text
        assert "&lt;script&gt;" in text
        assert first.address in await here.page("/unreadable")
        assert (await here.change("/unreadable/retry", address=later.address)).status_code == 303
        assert await here.manager.queue_length() == 1
        assert (await here.change("/unreadable/remove", address=first.address)).status_code == 303
        assert not await here.store.unreadable(10)
        for verb in ("retry", "remove"):
            assert (await here.change(f"/unreadable/{verb}", address=first.address)).status_code == 404
        assert (await here.browser.get("/unreadable/entry?address=none", headers=HTML)).status_code == 404
