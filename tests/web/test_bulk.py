"""One change for all tasks that a filter finds, and for those that were chosen."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlencode

import anyio
import pytest

from holdfast.client.task_filter import TaskFilter
from holdfast.client.task_spec import TaskSpec
from holdfast.core.bulk_changes import SILENT_MS, BulkChange, BulkState, BulkVerb, filter_words
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.web.queue import found_tasks
from tests.web.handlers import working
from tests.web.site import HTML, Site, site

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"


async def ended(here: Site) -> BulkChange:
    """The last bulk change, once it does not run any more."""
    with anyio.fail_after(60):
        while True:
            change = (await here.store.bulk_changes(1))[0]
            if change.state is not BulkState.RUNNING:
                return change
            await anyio.sleep(0.01)


async def submitted(here: Site, number: int, **more: str) -> None:
    await here.manager.run_tasks([TaskSpec(text=f"word {n}", task_id=f"t{n:03}", **more) for n in range(number)])  # type: ignore[arg-type]


async def test_everything_that_a_filter_finds_is_changed_after_a_count(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_tasks, "LONGEST", 60.0)  # seconds: all is counted for one page
    async with site(redis_settings) as here:
        await submitted(here, 230)
        await here.manager.run_task("other", task_id="other", lane="slow")
        assert "Cancel 231" in await here.page("/tasks/bulk?verb=cancel")
        assert "Cancel 1 task</button>" in await here.page("/tasks/bulk?verb=cancel&lane=slow")
        assert "Cancel 111" in await here.page("/tasks/bulk?verb=cancel&text=word+1"), "1, 10 to 19, 100 to 199"
        assert (await here.change("/bulk/begin", verb="cancel", text="word 1")).headers["location"] == "/bulk"
        change = await ended(here)
        assert (change.state, change.changed, change.refused, change.searched) == (BulkState.DONE, 111, 0, 231)
        assert await here.manager.count_tasks("canceled") == 111
        record = await here.manager.get_task("t111")
        assert record.reason == "canceled with others by token, from 192.0.2.7"
        await here.change("/bulk/begin", verb="retry", state="canceled")
        assert (await ended(here)).changed == 111
        await here.change("/bulk/begin", verb="retry", state="canceled")
        assert (await ended(here)).changed == 0, "what was retried before is not retried again"
        await here.change("/bulk/begin", verb="remove")
        assert (await ended(here)).changed == 111
        assert await here.manager.count_tasks() == 231
        shown = await here.page("/bulk")
        assert "192.0.2.7" in shown
        assert "111" in shown
        noted = await here.page("/activity")
        assert "111 changed, 0 refused of" in noted
        assert "words bad" not in noted, "counts are no refusal"


async def test_what_is_not_counted_yet_is_said(redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_tasks, "LONGEST", 0.0)
    async with site(redis_settings) as here:
        await submitted(here, 230)
        shown = await here.page("/tasks/bulk?verb=cancel&text=word")
        assert "<b>99</b> tasks so far" in shown
        assert "Counted in 99 of about 230 tasks" in shown
        assert "Cancel all that match</button>" in shown
        by_hand = shown.split('class="more" href="', 1)[1].split('"', 1)[0]
        assert "<b>198</b> tasks so far" in await here.page(by_hand)
        while 'hx-get="' in shown:  # as the script of the page does it
            shown = await here.page(shown.split('hx-get="', 1)[1].split('"', 1)[0])
        assert "<b>230</b> tasks<" in shown, "the count that is shown in the end is true"
        assert "Cancel 230 tasks</button>" in shown


async def test_a_filter_without_tasks_offers_no_change(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        shown = await here.page("/tasks/bulk?verb=retry&state=failed&lane=mail&older=2d")
        assert "Retry failed tasks of lane mail, older than 2 days?" in shown
        assert "<b>Nothing to retry</b>" in shown
        assert "/bulk/begin" not in shown


async def test_a_change_says_of_which_handlers_and_errors_its_tasks_are(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        for number in range(3):
            await here.manager.run_task(name="broken", kwargs={"why": f"no customer {number}"}, task_id=f"t{number}")
            await here.manager.wait(f"t{number}", 60)
        await here.change("/tasks/retry", task_id="t0")
        await here.manager.wait("t0.r1", 60)
        shown = await here.page("/tasks/bulk?verb=retry&state=failed")
        assert "<b>3</b> tasks<" in shown
        assert ("These tasks" in shown, "why=no customer 2" in shown) == (True, True), "what it will change"
        grouped = re.compile(r'>3</td><td class="name"><a[^>]*>broken</a></td><td><span[^>]*>ValueError</span>')
        assert grouped.search(shown)
        assert "1 task was retried before, and is left out." in shown
        monkeypatch.setattr(found_tasks, "STEP", 1)
        many = await here.page("/tasks/bulk?verb=retry&state=failed")
        assert grouped.search(many), "of more tasks than a sample, the counts"
        narrow = await here.page("/tasks/bulk?verb=retry&state=failed&newer=1d")
        assert "Of the newest 1:" in narrow, "a filter for which the store has no counts"
        kind = (await here.manager.get_task("t1")).error_kind
        heading = re.search(r"<h1>(.*?)</h1>", await here.page(f"/tasks/bulk?verb=retry&state=failed&error={kind}"))
        assert heading
        assert re.search(r"Retry failed tasks like <span class=\"bad\">ValueError: no customer \d</span>\?", heading[1])


def test_a_filter_is_told_in_words() -> None:
    assert filter_words("state=failed&lane=mail&older=2d", BulkVerb.RETRY, 12) == (
        "12 failed tasks of lane mail, older than 2 days"
    )
    assert filter_words("state=failed&state=rejected&name=mail.send", BulkVerb.RETRY, 1) == (
        "1 failed or rejected task of handler mail.send"
    )
    assert filter_words("", BulkVerb.CANCEL) == "unfinished tasks"
    assert filter_words("text=a+b&newer=90s", BulkVerb.REMOVE) == (
        "ended tasks with the text “a b”, newer than 1 minute 30 seconds"
    )
    told = filter_words(urlencode([(name, "1d") for name in TaskFilter.__struct_fields__]), BulkVerb.CANCEL)
    assert told.count("1d") + told.count("1 day") == len(TaskFilter.__struct_fields__), "no field is left out"


async def test_tasks_that_come_later_are_left_alone(redis_settings: RedisSettings) -> None:
    change = BulkChange("c", BulkVerb.CANCEL, "w", "o", "", Wanted(newer_ms=5_000), begun_ms=1_000)
    assert change.step_at(4_000) == replace(
        change.wanted, states=change.step_at(1_000).states, older_ms=3_000, newer_ms=8_000
    )
    async with site(redis_settings) as here:
        begun = await here.store.begin_bulk(replace(change, wanted=Wanted()))
        assert begun.begun_ms == begun.told_ms > 0


async def test_a_change_is_stopped_and_goes_on_from_where_it_was(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submitted(here, 300)
        change = BulkChange("c1", BulkVerb.CANCEL, "somebody", "192.0.2.9", "", Wanted(newest_first=True))
        page = await here.store.tasks(Wanted(newest_first=True), 100)
        begun = await here.store.begin_bulk(change)
        for task in page.tasks:
            await here.manager.cancel_task(task.task_id)
        noted = begun.after(changed=100, refused=0, searched=100, cursor=page.cursor)
        assert await here.store.note_bulk(begun, noted)
        assert (await here.change("/bulk/stop", change_id="c1")).status_code == 303
        assert not await here.store.note_bulk(noted, noted), "its process learns that it was stopped"
        assert 'class="state stopped"' in await here.page("/bulk")
        assert (await here.change("/bulk/stop", change_id="c1")).status_code == 409
        assert (await here.change("/bulk/go-on", change_id="c1")).status_code == 303
        done = await ended(here)
        assert (done.state, done.changed, done.searched) == (BulkState.DONE, 300, 300)
        assert not await here.store.note_bulk(noted, noted), "an earlier run writes nothing more"
        assert (await here.change("/bulk/go-on", change_id="c1")).status_code == 409


async def test_a_change_that_is_stopped_and_goes_on_at_once_counts_each_task_once(
    redis_settings: RedisSettings,
) -> None:
    async with site(redis_settings) as here:
        await submitted(here, 600)
        await here.change("/bulk/begin", verb="cancel")
        for _ in range(5):
            [change] = await here.store.bulk_changes(1)
            await here.change("/bulk/stop", change_id=change.change_id)
            await here.change("/bulk/go-on", change_id=change.change_id)
        done = await ended(here)
        assert (done.state, done.changed, done.refused) == (BulkState.DONE, 600, 0)


async def test_a_change_whose_process_is_gone_says_so(redis_settings: RedisSettings) -> None:
    change = BulkChange("c", BulkVerb.CANCEL, "w", "o", "", Wanted(), told_ms=1_000)
    assert change.state_at(1_000 + SILENT_MS) is BulkState.RUNNING
    assert change.state_at(1_001 + SILENT_MS) is BulkState.INTERRUPTED
    assert replace(change, state=BulkState.DONE).state_at(10**9) is BulkState.DONE


async def test_chosen_tasks_are_changed_and_refusals_are_told(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submitted(here, 3)
        await here.manager.cancel_task("t002")
        assert 'name="task_id" value="t001"' in await here.page("/tasks")
        form = {"csrf": await here.csrf(), "verb": "cancel", "task_id": ["t000", "t001", "t002", "none", SCRIPT]}
        answer = await here.browser.post("/tasks/chosen", data=form, headers=HTML)
        assert "3 done, 2 refused." in answer.text
        assert SCRIPT not in answer.text
        assert await here.manager.count_tasks("canceled") == 3
        notes = {each.subject: each for each in await here.store.activity_before("", 9)}
        assert {each.change for each in notes.values()} == {"tasks/cancel"}
        assert [each for each, noted in notes.items() if noted.is_refused] == [SCRIPT, "none"]
        assert "no task none" in notes["none"].outcome
        for verb, state in (("retry", "t000.r1"), ("remove", "")):
            await here.browser.post("/tasks/chosen", data={**form, "verb": verb, "task_id": ["t000"]}, headers=HTML)
            assert not state or (await here.manager.get_task(state)).state is State.SUBMITTED
        assert "no task t000" in await here.page("/task?id=t000", 404)


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/bulk/begin", {}, 400),
        ("/bulk/begin", {"verb": SCRIPT}, 400),
        ("/bulk/begin", {"verb": "cancel", "state": "completed"}, 400),
        ("/bulk/begin", {"verb": "remove", "state": "working"}, 400),
        ("/bulk/begin", {"verb": "cancel", "text": "x" * 300}, 400),
        ("/bulk/begin", {"verb": "cancel", "owner": "a b"}, 400),
        ("/bulk/begin", {"verb": "cancel", "newer": SCRIPT}, 400),
        ("/tasks/chosen", {"verb": "cancel"}, 400),
        ("/tasks/chosen", {"verb": "", "task_id": "t"}, 400),
        ("/bulk/stop", {"change_id": "none"}, 409),
        ("/bulk/go-on", {"change_id": SCRIPT}, 409),
        ("/bulk/stop", {}, 400),
    ],
)
async def test_a_change_that_cannot_be_changes_nothing(
    redis_settings: RedisSettings, path: str, fields: dict[str, str], status: int
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("x", task_id="t")
        answer = await here.change(path, **fields)
        assert (answer.status_code, SCRIPT in answer.text) == (status, False), answer.text
        assert await here.store.bulk_changes(10) == ()
        assert (await here.manager.get_task("t")).state is State.SUBMITTED


async def test_a_viewer_begins_stops_and_chooses_nothing(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        await here.manager.run_task("x", task_id="t")
        assert 'form="chosen"' not in await here.page("/tasks")
        assert "viewer" in await here.page("/tasks/bulk?verb=cancel", 403)
        for path in ("/bulk/begin", "/tasks/chosen", "/bulk/stop", "/bulk/go-on"):
            for client in (here.browser, here.program):
                answer = await client.post(path, data={"verb": "cancel", "task_id": "t"})
                assert (answer.status_code, "viewer" in answer.text) == (403, True)
            assert (await here.stranger.post(path, data={"verb": "cancel"})).status_code == 401
        assert (await here.manager.get_task("t")).state is State.SUBMITTED
