"""Events and changes as a person reads them: a colour by meaning, a sentence, and the page of the subject."""

from __future__ import annotations

import re

import pytest

from holdfast.core.activity import Activity, Happening
from holdfast.core.trail import EVENTS
from holdfast.core.worker_records import WorkerRecord
from holdfast_config import RedisSettings
from holdfastd.operations import act as acts
from holdfastd.web.pages.event_pages import NOUNS, VERBS, change_words, whole_changes
from holdfastd.web.views import shown_events
from holdfastd.web.views.shown_events import brief_names, label, page_of, parts, ran_by, rows, sentence, tone
from tests.lua.operations import introduction
from tests.web.site import site

pytestmark = pytest.mark.anyio

CLAIM = f"1:{'ab' * 16}:232"


@pytest.mark.parametrize(
    ("event", "detail", "said", "colour"),
    [
        ("claimed", CLAIM, "by worker abababab", "runs"),
        ("claimed", CLAIM.replace("1:", "2:", 1), "by worker abababab, delivery 2", "runs"),
        ("settled", f"completed 1 {CLAIM} ", "", "good"),
        ("settled", f"completed 2 {CLAIM} ", "turn 2", "good"),
        ("settled", f"failed 1 {CLAIM} ValueError: no", "ValueError: no", "bad"),
        ("settled", f"input-required 1 {CLAIM} ", "asks for input", "warn"),
        ("retry", f"{CLAIM} ValueError: no", "failed, will be retried: ValueError: no", "bad"),
        ("step", "6 charge", "step 6 is recorded: charge", "rest"),
        ("accepted", "own", "submitted through Holdfast", "rest"),
        ("lane-paused", "the provider is down", "paused: the provider is down", "warn"),
        ("lane-resumed", "", "resumed", "good"),
        ("lane-bound", "limit 4", "its limit of running tasks is 4", "rest"),
        ("worker-died", "signal: SIGKILL 2", "died: signal: SIGKILL; it had 2 tasks", "bad"),
        ("worker-registered", "web-1 4711", "began on web-1, pid 4711", "runs"),
        ("host-quiet", "ada the disk is full", "quieted by ada: the disk is full", "warn"),
        ("schedule-fired", "1795820751146 sweep@1 1 ms late", "fired: task sweep@1, 1 ms late", "rest"),
        ("schedule-ended", " sweep@1 completed", "ended: task sweep@1, completed", "good"),
        ("schedule-ended", " sweep@1 failed", "ended: task sweep@1, failed", "bad"),
        ("webhook-dropped", "the outbox is full", "its webhook was given up: the outbox is full", "bad"),
        ("batch-ended", "12", "ended with 12 tasks", "good"),
    ],
)
def test_an_event_is_a_sentence_in_the_colour_of_its_meaning(event: str, detail: str, said: str, colour: str) -> None:
    assert (sentence(event, detail), tone(event, detail)) == (said, colour)


def test_the_badge_of_an_end_has_its_state_and_times_are_counted_from_the_event() -> None:
    assert (label("settled", f"failed 1 {CLAIM} "), label("claimed", CLAIM)) == ("failed", "claimed")
    assert sentence("delayed", "1795820752000", 1795820751000) == "for 1s"
    assert sentence("claimed", CLAIM, 0, {"ab" * 16: "worker 1 on web-2"}) == "by worker 1 on web-2"


def test_the_names_of_workers_have_their_hosts_if_there_are_several() -> None:
    first, other = (
        WorkerRecord(each, "live", host, 7, slot, (), 0) for each, host, slot in (("a", "web-1", 0), ("b", "web-2", 3))
    )
    assert brief_names({"a": first, "gone": None}) == {"a": "worker 0"}
    assert brief_names({"a": first, "b": other}) == {"a": "worker 0 on web-1", "b": "worker 3 on web-2"}


def happening(at_ms: int, event: str, detail: str, subject: str = "t-1") -> Happening:
    return Happening(f"{at_ms}-0", event, subject, detail)


def test_the_events_of_one_run_are_one_row() -> None:
    events = [
        happening(1250, "settled", f"completed 1 {CLAIM} "),
        happening(1240, "claimed", CLAIM, "t-2"),
        happening(1100, "claimed", CLAIM),
        happening(1097, "accepted", "own"),
        happening(1000, "lane-paused", "", "mail"),
    ]
    folded = rows(events, str, {"ab" * 16: "worker 1 on web-2"}, is_folded=True)
    assert [[each.event for each in row.events] for row in folded] == [
        ["settled", "claimed", "accepted"],
        ["claimed"],
        ["lane-paused"],
    ]
    assert folded[0].words == "in 150ms by worker 1 on web-2; waited 3ms"
    assert [row.events for row in rows(events, str, {}, is_folded=False)] == [[each] for each in events]


def test_an_end_without_its_claim_says_which_worker_it_was() -> None:
    end = happening(1250, "settled", f"completed 1 {CLAIM} ")
    (row,) = rows([end], str, {"ab" * 16: "worker 1"}, is_folded=True)
    assert row.words == "by worker 1"
    assert ran_by(happening(1250, "settled", "canceled 1 "), {}) == ran_by(happening(1, "claimed", CLAIM), {}) == ""


def test_a_run_that_failed_is_one_row_with_the_time_until_the_next() -> None:
    events = [
        happening(2000, "delayed", "3000"),
        happening(2000, "retry", f"{CLAIM} no"),
        happening(1000, "claimed", CLAIM),
    ]
    (row,) = rows(events, str, {}, is_folded=True)
    assert (row.head.event, row.words) == (
        "retry",
        "failed, will be retried: no; in 1s by worker abababab; again in 1s",
    )


def test_the_steps_of_a_run_are_in_its_row() -> None:
    events = [happening(1000 + 100 * n, "step", f"{n} charge") for n in (3, 2, 1)] + [happening(1000, "claimed", CLAIM)]
    (row,) = rows(events, str, {}, is_folded=True)
    assert row.words == "step 3 is recorded: charge; by worker abababab"
    (row,) = rows([happening(1500, "settled", f"completed 1 {CLAIM} "), *events], str, {}, is_folded=True)
    assert row.words == "in 500ms by worker abababab"


def test_a_second_run_has_a_row_of_its_own() -> None:
    events = [happening(3000, "settled", f"completed 1 {CLAIM} "), happening(2000, "retry", f"{CLAIM} no")]
    assert len(rows(events, str, {}, is_folded=True)) == 2
    events[1:1] = [happening(2900, "claimed", CLAIM), happening(2500, "promoted", "")]
    first, _ = rows(events, str, {}, is_folded=True)
    assert first.words == "in 100ms by worker abababab; waited 400ms"


def test_a_sentence_leads_to_the_workers_and_tasks_that_it_names() -> None:
    assert parts("by worker abababab, delivery 1")[:2] == [("by ", ""), ("worker abababab", "/workers")]
    assert parts("by worker 1 on web-2; waited")[1] == ("worker 1 on web-2", "/workers")
    assert parts("fired: task sweep@1Z, late")[1:] == [("task sweep@1Z", "/task?id=sweep%401Z"), (", late", "")]
    assert parts("the task has ended") == [("the task has ended", "")]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("detail", ["", " ", "x", "1 2 3", "nan nan"])
def test_no_detail_keeps_an_event_from_its_page(event: str, detail: str) -> None:
    assert isinstance(sentence(event, detail), str)
    assert tone(event, detail) in {"runs", "good", "bad", "warn", "later", "rest"}


def test_colours_name_events_that_there_are() -> None:
    assert set(shown_events._TONE_OF) <= set(EVENTS)


@pytest.mark.parametrize(
    ("event", "subject", "page"),
    [
        ("settled", "t/1", "/task?id=t%2F1"),
        ("lane-paused", "a b", "/lane?name=a%20b"),
        ("schedule-fired", "nightly", "/schedule?id=nightly"),
        ("batch-ended", "import-7", "/batch?id=import-7"),
        ("worker-died", "ab" * 16, "/workers"),
        ("removed", "t-1", ""),
        ("schedule-removed", "nightly", ""),
    ],
)
def test_an_event_leads_to_the_page_of_its_subject(event: str, subject: str, page: str) -> None:
    assert page_of(event, subject) == page


def names() -> set[str]:
    """The names of all acts, as the sources spell them."""
    folder = acts.__file__.rpartition("/")[0]
    from pathlib import Path

    text = "".join(each.read_text() for each in Path(folder).glob("*.py"))
    return set(re.findall(r'Act\(\s*"([a-z]+/[a-z-]+)"', text))


def test_each_act_has_words_for_activity() -> None:
    assert len(names()) > 30
    assert {name for name in names() if name.partition("/")[0] not in NOUNS} == set()
    assert {name for name in names() if name.partition("/")[2] not in VERBS} == set()


@pytest.mark.parametrize(
    ("change", "subject", "did", "page"),
    [
        ("lanes/pause", "mail", "paused lane", "/lane?name=mail"),
        ("tasks/cancel", "t-1", "canceled task", "/task?id=t-1"),
        ("tasks/remove", "t-1", "removed task", ""),
        ("hosts/quiet", "", "stopped the claims of all hosts", ""),
        ("dead/retry-all", "", "retried many dead letters", ""),
        ("bulk/begin", "57", "began the change of many tasks", "/bulk"),
        ("bulk/retry", "57", "retried many tasks:", "/bulk"),
        ("odd", "x", "odd", ""),
    ],
)
def test_a_change_is_a_sentence(change: str, subject: str, did: str, page: str) -> None:
    assert change_words(Activity("ada", "127.0.0.1", change, subject)) == (did, page)


def test_a_change_of_many_tasks_is_one_entry_once_it_has_ended() -> None:
    begun, end = (
        Activity("ada", "", f"bulk/{each}", "57", said)
        for each, said in (("begin", "begun: retry failed tasks"), ("retry", "done: 3 changed"))
    )
    (one,) = whole_changes([end, begun])
    assert (one.change, one.outcome) == ("bulk/retry", "retry failed tasks: 3 changed")
    assert whole_changes([begun]) == [begun]


async def test_events_have_their_handler_and_those_of_removed_tasks_lead_nowhere(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.register(introduction("w"))
        await here.manager.run_task(name="mail.send", kwargs={}, task_id="kept")
        await here.manager.run_task(name="mail.send", kwargs={}, task_id="gone")
        await here.manager.cancel_task("gone")
        await here.manager.remove_task("gone")
        await here.change("/lanes/pause", lane="mail", reason="down", create="true")
        shown = await here.page("/events")
        assert '<a class="id" href="/task?id=kept"' in shown
        assert "/handler?name=mail.send" in shown
        assert 'href="/task?id=gone"' not in shown
        assert '<span class="state tone-warn" title="lane-paused">lane-paused</span>' in shown
        assert "paused: down" in shown
        failures = await here.page("/events?kind=crashed&kind=retry")
        assert "kind=crashed&kind=retry&places=true" in failures
        assert "No such event" in failures


async def test_activity_shows_only_refused_changes_if_asked(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.change("/lanes/pause", lane="mail", reason="down", create="true")
        await here.change("/tasks/cancel", task_id="nothing")
        every, refused = await here.page("/activity"), await here.page("/activity?refused=true")
        assert ("paused lane" in every, "asked to cancel task" in every) == (True, True)
        assert ("paused lane" in refused, "asked to cancel task" in refused) == (False, True)
