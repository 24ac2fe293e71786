"""One task's page: its picture, its messages, what came of it, and the changes that its state allows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import pytest

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.task_states import TRANSITIONS, State
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.web.views.shown_task import AFTER, SHORT_MS, BarKind, last_lines, picture, story
from tests.lua.operations import introduction
from tests.web.handlers import working
from tests.web.site import HTML, Site, site
from tests.why.test_story import TASK

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"


async def offered(here: Site, task_id: str) -> set[str]:
    """The changes of a task that its page offers."""
    shown = (await here.browser.get(f"/task?id={task_id}")).text
    return set(re.findall(r'action="/tasks/(\w+)"', shown)) | ({"edit"} if "/submit?task=" in shown else set())


async def settle(here: Site, kind: Settle, result: bytes = b'{"state":"x","parts":[]}', reason: str = "") -> None:
    """Take the next task as a worker, and settle it."""
    queue = here.manager._queue  # pyright: ignore[reportPrivateUsage]
    worker = f"w-{kind}"
    await here.store.register(introduction(worker))
    [delivery] = (await here.store.pull(worker, 1, 1, [queue], [])).deliveries
    delay = 60_000 if kind is Settle.RETRY else 0
    settled = Settlement(delivery.task_id, delivery.claim, kind, result=result, reason=reason, delay_ms=delay)
    await here.store.pull(worker, 2, 0, [queue], [settled])


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (None, {"pause", "cancel", "message", "edit"}),
        (Settle.COMPLETED, {"remove", "edit"}),
        (Settle.FAILED, {"remove", "retry", "edit"}),
        (Settle.INPUT_REQUIRED, {"resume", "cancel", "message", "edit"}),
        (Settle.RETRY, {"retry", "pause", "cancel", "message", "edit"}),
    ],
)
async def test_a_task_offers_the_changes_that_its_state_allows(
    redis_settings: RedisSettings, kind: Settle | None, changes: set[str]
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        if kind is not None:
            await settle(here, kind)
        assert await offered(here, "t") == changes


async def test_a_paused_task_can_be_resumed_and_a_retried_one_is_not_retried_again(
    redis_settings: RedisSettings,
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        await here.manager.pause_task("t")
        assert await offered(here, "t") == {"resume", "cancel", "message", "edit"}
        await here.manager.cancel_task("t")
        assert "retry" in await offered(here, "t")
        await here.manager.retry_task("t")
        assert await offered(here, "t") == {"remove", "edit"}
        assert ">t.r1</a>" in await here.page("/task?id=t")


async def test_a_message_continues_a_task_and_the_same_form_twice_is_one(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await here.manager.run_task("sell the otters", name="asks", task_id="t")
        assert (await here.manager.wait("t", 60)).state is State.INPUT_REQUIRED
        shown = await here.page("/task?id=t")
        assert "Which region?" in shown
        assert "<h2>Question</h2>" in shown
        assert '"part": 1' in shown, "the part that it has emitted"
        for _ in range(2):
            answer = await here.change("/tasks/message", task_id="t", text="eu\r\nus", message_id="m1")
            assert (answer.status_code, answer.headers.get("location")) in ((303, "/task?id=t"), (409, None))
        record = await here.manager.wait("t", 60)
        assert (record.state, record.value) == (State.COMPLETED, "you said eu\nus")
        shown = await here.page("/task?id=t")
        assert "eu\nus" in shown
        assert "Which region?" in shown, "the turn before is shown"
        assert '<span class="brief">sell the otters</span>' in shown, "the title is what the task was submitted with"


async def test_the_tokens_of_a_stream_are_shown_and_its_secrets_are_not(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await here.manager.run_task(name="speaks", task_id="t")
        assert (await here.manager.wait("t", 60)).state is State.COMPLETED
        streamed = await here.program.get("/api/v1/tasks/t/events")
        for shown in (streamed.text, await here.page("/task?id=t")):
            assert all(word in shown for word in ("Otters", " hold", " hands", "4711", "512", "tokens_used"))
            assert not any(secret in shown for secret in ("hunter2", "4f7a1bc09de2a6b8"))


async def test_a_message_has_the_id_of_its_form(redis_settings: RedisSettings) -> None:
    """So the form sent twice is one message, and the same words again are another."""
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        for message_id in ("m1", "m1", "m2"):
            await here.change("/tasks/message", task_id="t", text="more", message_id=message_id)
        assert (await here.manager.get_task("t")).pending == 2


async def test_a_message_that_is_no_json_comes_back_as_it_was_typed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        await here.manager.pause_task("t")
        for text, json_too, says in (
            ('{"a": ', "1", "not JSON"),
            ("  ", "", "is empty"),
            ("null", "1", "is null"),
            (f"[NaN, {SCRIPT}", "1", "JSON has no NaN"),
            ("[" * 100_000, "1", "nested too deeply"),
        ):
            answer = await here.change("/tasks/message", task_id="t", text=text, json=json_too, message_id="m")
            assert (answer.status_code, says in answer.text) == (400, True), answer.text
            assert SCRIPT not in answer.text
            typed = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", answer.text, re.DOTALL)
            assert typed
            assert typed[1] == text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;")
        assert (await here.manager.get_task("t")).state is State.SUSPENDED
        await here.change("/tasks/message", task_id="t", text='{"a": 1}', json="1", message_id="m")
        operation = (await here.manager.get_task("t")).operation
        assert operation
        assert json.loads(operation)["params"]["message"]["parts"] == [{"kind": "data", "data": {"a": 1}}]


async def test_a_message_to_a_task_that_is_unknown_or_over_is_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert (await here.change("/tasks/message", task_id="none", text="x")).status_code == 404
        await here.manager.run_task("hello", task_id="t")
        await here.manager.cancel_task("t")
        answer = await here.change("/tasks/message", task_id="t", text="x")
        assert (answer.status_code, "has ended" in answer.text) == (409, True)
        refused, _ = await here.store.activity_before("", 2)
        assert (refused.change, refused.subject, "has ended" in refused.outcome) == ("tasks/message", "t", True)


async def test_an_error_is_shown_with_its_traceback(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await here.manager.run_task(name="broken", kwargs={"why": SCRIPT}, task_id="t")
        await here.manager.wait("t", 60)
        raw = (await here.browser.get("/task?id=t")).text
        assert SCRIPT not in raw
        assert "ValueError: &lt;script&gt;" in raw
        assert re.search(r"<details open><summary>Traceback</summary><pre[^>]*>.*broken", raw, re.DOTALL)
        assert "step 1 is recorded: first" in raw
        assert "every 2s" not in raw, "a task that has ended is not asked for again"
        assert "<span>Runs <small>" in raw
        assert "<span>Steps</span>" in raw


async def test_parents_children_and_batch_are_links(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("first", task_id="parent")
        await here.manager.run_task("then", task_id="child", after=["parent"])
        assert 'href="/task?id=child"' in await here.page("/task?id=parent")
        assert 'href="/task?id=parent"' in await here.page("/task?id=child")
        await settle(here, Settle.COMPLETED)
        for _ in range(2):
            await here.store.promote(10)
        assert await here.store.children("parent", 10) == (1, ("child",)), "also when they were given its end"
        assert await here.store.children("none", 10) == (0, ())


async def test_a_trace_is_a_link_where_the_settings_have_one(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, trace_url="https://traces.example.org/{trace_id}") as here, working(redis_settings):
        await here.manager.run_task("hello", task_id="t")
        await here.manager.wait("t", 60)
        assert re.search(r'href="https://traces\.example\.org/[0-9a-f]{32}"', await here.page("/task?id=t"))


async def test_a_long_history_is_bounded_unless_all_is_asked_for(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        queue = redis_settings.queue
        await here.manager.run_task("hello", task_id="t")
        await here.store.register(introduction("w"))
        [delivery] = (await here.store.pull("w", 1, 1, [queue], [])).deliveries
        for place in range(300):
            await here.store.step("t", delivery.claim, place, f"step {place}", b"1")
        shown = await here.page("/task?id=t")
        assert shown.count("is recorded") < 250, "marks that are close are one"
        assert "Show all 302" in shown
        assert shown.count("<li><time") == 100
        assert (await here.page("/task?id=t&all=1")).count("<li><time") == 302


async def test_a_large_result_is_bounded_unless_all_is_asked_for(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("m" * 30_000, task_id="t")
        result = {"state": "completed", "parts": [{"kind": "text", "text": "r" * 50_000}]}
        await settle(here, Settle.COMPLETED, json.dumps(result).encode())
        short = (await here.browser.get("/task?id=t")).text
        assert (short.count("r" * 20_000), short.count("m" * 20_000)) == (1, 1)
        assert len(short) < 60_000
        assert 'href="/task?id=t&amp;all=1"' in short
        whole = (await here.browser.get("/task?id=t&all=1")).text
        assert "r" * 50_000 in whole
        assert "m" * 30_000 in whole


async def test_a_pause_and_a_cancel_have_the_reason_that_was_typed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        shown = (await here.browser.get("/task?id=t")).text
        await here.manager.run_task("hello", task_id="paused")
        await here.manager.pause_task("paused")
        assert '<button class="primary">Resume</button>' in await here.page("/task?id=paused")
        await here.change("/tasks/resume", task_id="paused", reason="it is back")
        assert "it is back (resumed by token on the web" in (await here.manager.get_task("paused")).trail[-1]
        for path, word in (("/tasks/pause", "paused"), ("/tasks/cancel", "canceled")):
            assert re.search(rf'action="{path}">.*name="reason"', shown)
            await here.change(path, task_id="t", reason="the provider is down")
            reason = (await here.manager.get_task("t")).reason
            assert reason.startswith(f"the provider is down ({word} by token on the web")


async def test_the_core_has_one_state_behind_each_event() -> None:
    """The picture reads states off events."""
    for state, row in TRANSITIONS.items():
        for event, after in row.items():
            assert AFTER[event] is after, (state, event)


async def test_a_picture_shows_runs_and_waits_by_their_length(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        await settle(here, Settle.RETRY, reason="ValueError: x")
        record = await here.manager.get_task("t")
        drawn = picture(record, [], record.created_ms + 10_000)
        kinds = {track.title: [bar.kind for bar in track.bars] for track in drawn.tracks}
        assert kinds["Runs"] == [BarKind.RUNS]
        assert kinds["Waits"][-1] is BarKind.LATER
        assert all(0 <= bar.x <= 1000 and bar.x + bar.width <= 1000.1 for track in drawn.tracks for bar in track.bars)


@pytest.mark.parametrize(("waited", "ran", "bars"), [(0, 5, 1), (1, 5, 2), (0, 0, 1), (1, 0, 2)])
async def test_a_wait_of_no_length_is_no_bar_and_a_run_is_one(waited: int, ran: int, bars: int) -> None:
    start = TASK.created_ms
    trail = (f"{start + waited} claimed 1:w:1", f"{start + waited + ran} settled completed 1 1:w:1 ")
    ended = replace(TASK, state=State.COMPLETED, finished_ms=start + waited + ran, trail=trail)
    drawn = picture(ended, [], start + 60_000)
    assert sum(len(track.bars) for track in drawn.tracks) == bars


async def test_a_picture_ends_with_its_task_and_has_a_row_for_each_task_that_it_waited_for(
    redis_settings: RedisSettings,
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("first", task_id="before")
        await here.manager.run_task("hello", task_id="t", after=["before"])
        accepted_ms = await here.store.clock_ms()
        while await here.store.clock_ms() <= accepted_ms:
            pass  # a wait of no length is not drawn
        await settle(here, Settle.COMPLETED)
        await here.store.promote(10)
        await settle(here, Settle.FAILED, reason="ValueError: x")
        await here.manager.retry_task("t")
        record, before = await here.manager.get_task("t"), await here.manager.get_task("before")
        timeline = (await here.manager.why("t"))["timeline"]
        drawn = picture(record, timeline, record.created_ms + 60_000, [before])
        assert drawn.end_ms == record.finished_ms, "the retry comes after the end"
        assert drawn.tracks[0].task == "before"
        assert drawn.tracks[0].bars
        assert "Retries" not in {track.title for track in drawn.tracks}
        assert (BarKind.LATER, "waits for other tasks") in drawn.keys
        shown = await here.page("/task?id=t")
        assert '<a class="button primary" href="/task?id=t.r1">See the retry</a>' in shown
        assert "incarnation" not in shown.partition("What happened")[2].partition("Messages")[0]
        assert "incarnation" in await here.page("/task?id=t&all=1")


async def test_a_question_has_the_same_form_in_the_list_and_on_its_page(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        await settle(here, Settle.INPUT_REQUIRED)
        forms = [
            re.search(r'<form class="reply".*?</div>', re.sub(r'name="message_id" value="[^"]*"', "", shown), re.DOTALL)
            for shown in (await here.page("/task?id=t"), await here.page("/tasks?state=input-required"))
        ]
        assert forms[0]
        assert forms[1]
        assert forms[0][0] == forms[1][0]
        assert "Resume without an answer…" in forms[0][0]


async def test_the_history_is_told_in_chapters_with_their_lengths_and_endings(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        await settle(here, Settle.RETRY, reason="ValueError: x")
        await here.manager.retry_task("t")
        await settle(here, Settle.FAILED, reason="ValueError: y")
        await here.manager.retry_task("t")
        record = await here.manager.get_task("t")
        timeline = (await here.manager.why("t"))["timeline"]
        told = story(record, timeline, {}, record.created_ms + 10_000)
        noticed = [each for each in told if each.kind is not BarKind.WAITS]
        assert all(each.end_ms - each.start_ms >= SHORT_MS for each in told if each.kind is BarKind.WAITS)
        assert [(each.title, each.kind, each.ended_by) for each in noticed] == [
            ("Run 1", BarKind.RUNS, "retry"),
            ("Wait for its time", BarKind.LATER, ""),
            ("Run 2", BarKind.RUNS, "failed"),
            ("After its end", BarKind.UNKNOWN, ""),
        ]
        assert [line.event for each in told for line in each.lines] == [line["event"] for line in timeline]
        assert [line.event for each in last_lines(told, 2) for line in each.lines] == ["settled", "retried"]
        shown = await here.page("/task?id=t")
        assert re.search(r"<h3>Run 1 <small>\d+ms</small> <span class=\"state retry\">failed</span></h3>", shown)
        assert re.search(r'runs again as <a [^>]*href="/task\?id=t\.r1"', shown)


async def test_a_long_time_between_two_lines_is_shown(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("hello", task_id="t")
        await settle(here, Settle.RETRY)
        record = await here.manager.get_task("t")
        later = [{"at_ms": record.created_ms + 4000 * n, "event": "step", "text": "x"} for n in range(2)]
        [first, second] = story(record, later, {}, record.created_ms + 9000)[0].lines
        assert (first.gap, second.gap) == ("", "4s")
        assert (first.offset, second.offset) == ("+0ms", "+4.00s"), "the time since the task was accepted"


async def test_the_page_names_the_tasks_before_and_behind_it_with_their_states(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("first", task_id="one")
        await here.manager.run_task("second", task_id="two", after=["one"])
        shown = await here.page("/task?id=two")
        parents = shown.split("Waits for <small>1 task", 1)[1].split("</section>", 1)[0]
        assert 'href="/task?id=one"' in parents
        assert '<span class="state submitted">' in parents
        assert 'href="/task?id=two"' in (await here.page("/task?id=one")).split("Then run <small>1 task", 1)[1]


async def test_questions_stand_with_their_words_and_a_field_for_the_answer(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        assert "Nobody is asked anything" in await here.page("/tasks?state=input-required")
        await here.manager.run_task("sell the otters", name="asks", task_id="t")
        await here.manager.wait("t", 60)
        shown = await here.page("/tasks?state=input-required")
        assert '<p class="asked">Which region?</p>' in shown
        form = shown.split('class="reply"', 1)[1].split("</form>", 1)[0]
        fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))
        answer = await here.browser.post("/tasks/message", data={**fields, "text": "eu"}, headers=HTML)
        assert (answer.status_code, answer.headers["location"]) == (303, "/task?id=t")
        assert (await here.manager.wait("t", 60)).value == "you said eu"
        listed = await here.page("/tasks?state=input-required&columns=task,state")
        assert '<th scope="col">State</th>' in listed or "No task matches" in listed


async def test_steps_have_arguments_value_and_time_without_secrets(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await here.manager.run_task(name="writes", task_id="t")
        await here.manager.wait("t", 60)
        raw = (await here.browser.get("/task?id=t")).text
        assert "<otters>" not in raw
        for secret in ("sk-hidden", "hunter2", "abcd1234"):
            assert secret not in raw
        step = re.search(r'<div class="recorded">(.*?)</div>', unescape(raw), re.DOTALL)
        assert step
        assert step[1].startswith(
            'topic=<otters>, limit=3, api_key=*** <b>→</b> {"found": 3, "password": "***", "text":'
        )
        assert re.search(r"… <small>in \d+ms</small>$", step[1]), "only the beginning of a long value"
        assert len(step[1]) < 700
        whole = unescape((await here.browser.get("/task?id=t&all=1")).text)
        assert "<otters> " * 1000 in whole


async def test_texts_of_a_stream_are_one_text(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await here.manager.run_task(name="writes", task_id="t")
        await here.manager.wait("t", 60)
        shown = await here.page("/task?id=t")
        assert '<pre class="wrap">Otters hold hands, token=***</pre>' in shown
        assert '"tokens": 3' in shown


async def test_a_viewer_is_offered_nothing(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        await here.manager.run_task("hello", task_id="t")
        assert await offered(here, "t") == set()
        assert (await here.browser.get("/submit?task=t", headers=HTML)).status_code == 403
