"""Webhooks that wait to be told: one unreadable record stops no other, one that was taken is leased."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from holdfast.core.acceptance import SubmitOptions
from holdfast.core.delivery import Delivery, Holding, Settle
from holdfast.core.webhook_notice import Answered, Notice, Room, SpoiltNotice, receiver_of
from holdfast.store.redis.scripts import text
from holdfast_config.settings import MEMORY
from tests.conformance.stand import submission
from tests.lua.namespace import Namespace, namespace

pytestmark = pytest.mark.anyio

LEASE_MS = 60_000


async def test_record_that_is_none_is_taken_beside_the_others(space: Namespace) -> None:
    await space.register("a")
    await space.store.submit_with_options(
        [submission("t1", space.queue, options=SubmitOptions(webhook="https://example.org/told"))]
    )
    await space.settle("a", (await space.take("a"))[0], Settle.COMPLETED)
    await space.do("SET", space.key("webhook:bad|1|completed"), "no hash")
    await space.do("ZADD", space.key("webhooks"), 0, "bad|1|completed")
    bad, good = (await space.store.take_notices(10, 1000))[0]
    assert isinstance(bad, SpoiltNotice)
    assert isinstance(good, Notice)
    assert (bad.name, good.task_id, good.tries) == ("bad|1|completed", "t1", 1)
    assert await space.store.notice_done(bad.name, bad.why)
    await space.check()


async def test_a_webhook_that_was_taken_is_taken_again_only_when_its_lease_has_lapsed(space: Namespace) -> None:
    await space.register("a")
    await space.store.submit_with_options(
        [submission("t1", space.queue, options=SubmitOptions(webhook="https://example.org/told"))]
    )
    await space.settle("a", (await space.take("a"))[0], Settle.COMPLETED)
    [notice], _ = await space.store.take_notices(10, LEASE_MS)
    assert (notice.task_id, notice.tries) == ("t1", 1)
    assert await space.store.take_notices(10, LEASE_MS) == ([], LEASE_MS)
    await space.advance(LEASE_MS - 1)
    assert await space.store.take_notices(10, LEASE_MS) == ([], 1)
    await space.advance(1)
    [again], _ = await space.store.take_notices(10, LEASE_MS)
    assert (again.name, again.tries) == (notice.name, 2)


async def test_what_waits_for_a_webhook_that_was_taken_away_waits_for_the_next_or_no_more(space: Namespace) -> None:
    one, two = "https://example.org/one", "https://example.org/two"
    await space.register("a")
    await space.store.submit_with_options([submission("t1", space.queue, options=SubmitOptions(webhook=one))])
    await space.settle("a", (await space.take("a"))[0], Settle.COMPLETED)
    for known, url, answer, waits in ((two, "", "other", [one]), (one, two, "set", [two]), (two, "", "set", [])):
        assert await space.store.set_webhook_of_task("t1", known, url) == answer
        outbox = await space.store.outbox(0, 10)
        assert [each.notice.url for each in outbox.waiting if isinstance(each.notice, Notice)] == waits
        assert outbox.total == len(waits)
    await space.check()


async def test_of_a_task_that_works_is_told_where_clients_of_the_agent_have_settings(space: Namespace) -> None:
    url = "https://example.org/told"
    await space.register("a")
    await space.store.add("t2", push=b"{}")
    options = SubmitOptions(webhook=url)
    await space.store.submit_with_options([submission(each, space.queue, options=options) for each in ("t1", "t2")])
    taken = await space.take("a", 2)
    [notice], _ = await space.store.take_notices(10, LEASE_MS)
    assert isinstance(notice, Notice)
    assert (notice.task_id, notice.turn, notice.state, notice.url) == ("t2", 1, "working", url)
    assert await space.store.notice_done(notice.name)
    for progress, count in (("1/2", 1), ("1/2", 0), ("2/2", 1)):
        holdings = [Holding(each.task_id, each.claim, progress) for each in taken]
        await space.store.renew("a", "live", 1, holdings)
        notices, _ = await space.store.take_notices(10, LEASE_MS)
        assert len(notices) == count
        for each in notices:
            assert await space.store.notice_done(each.name)
    await space.check()


async def working(space: Namespace) -> Delivery:
    """A task of a client of the agent that has settings; the webhook of its claim waits."""
    await space.register("a")
    await space.store.add("t1", push=b"{}")
    options = SubmitOptions(webhook="https://example.org/told")
    await space.store.submit_with_options([submission("t1", space.queue, options=options)])
    [claimed] = await space.take("a")
    return claimed


async def take(space: Namespace) -> Notice | None:
    notices, _ = await space.store.take_notices(10, LEASE_MS)
    assert all(isinstance(each, Notice) for each in notices)
    return cast("Notice", notices[0]) if notices else None


async def progress(space: Namespace, task: Delivery, text: str) -> None:
    await space.advance(5000)
    await space.store.renew("a", "live", 1, [Holding("t1", task.claim, text)])


async def test_progress_that_comes_while_an_earlier_one_is_sent_is_sent_after_it(space: Namespace) -> None:
    task, first = await working(space), await take(space)
    assert first is not None
    await progress(space, task, "1/2")
    assert await take(space) is None, "the first is still being sent"
    assert await space.store.wait_notices(0.01) is False
    assert await space.store.notice_done(first.name, at_ms=first.at_ms)
    assert await space.store.wait_notices(0.01) is True
    second = await take(space)
    assert second is not None
    assert (second.name, second.at_ms, second.tries) == (first.name, first.at_ms + 5000, 1)
    assert await space.store.notice_done(second.name, at_ms=second.at_ms)
    await space.advance(2 * LEASE_MS)
    assert await take(space) is None
    await space.check()


async def test_progress_does_not_hasten_what_could_not_be_sent(space: Namespace) -> None:
    task, first = await working(space), await take(space)
    assert first is not None
    await space.store.notice_later(first.name, 20_000)
    await progress(space, task, "1/2")
    assert await take(space) is None
    await space.advance(15_000)
    again = await take(space)
    assert again is not None
    assert (again.at_ms, again.tries) == (first.at_ms + 5000, 2)
    await space.check()


async def test_progress_after_what_is_given_up_is_sent(space: Namespace) -> None:
    task, first = await working(space), await take(space)
    assert first is not None
    assert await space.store.notice_done(first.name, "no attempt is left")
    await progress(space, task, "1/2")
    second = await take(space)
    assert second is not None
    assert second.tries == 1


async def test_a_retry_has_the_settings_of_the_agents_client(space: Namespace) -> None:
    """Its URL would be told as a webhook otherwise, without its token."""
    task = await working(space)
    await space.settle("a", task, Settle.FAILED)
    assert (await space.store.retry("t1", "again")).task_id == "t1.r1"
    assert await space.store.push("t1.r1") == b"{}"
    await space.check()


async def test_webhooks_that_wait_are_listed_and_one_is_tried_now(space: Namespace) -> None:
    await space.register("a")
    await space.store.set_webhook("https://example.org/all")
    for task_id in ("t1", "t2"):
        await space.submit(task_id)
    for taken in await space.take("a", 2):
        await space.settle("a", taken, Settle.COMPLETED)
    await space.do("SET", space.key("webhook:bad|1|completed"), "no hash")
    await space.do("ZADD", space.key("webhooks"), 1, "bad|1|completed")
    outbox = await space.store.outbox(0, 10)
    assert (outbox.url, outbox.total) == ("https://example.org/all", 3)
    assert [type(each.notice) for each in outbox.waiting] == [SpoiltNotice, Notice, Notice]
    [first, *_] = (await space.store.outbox(1, 1)).waiting
    await space.store.take_notices(10, LEASE_MS)
    assert await space.store.wait_notices(0.01) is False
    assert await space.store.notice_now(first.notice.name)
    assert await space.store.wait_notices(0.01) is True
    assert [each.name for each in (await space.store.take_notices(10, 1000))[0]] == [first.notice.name]
    assert not await space.store.notice_now("nobody|1|completed")
    await space.store.notice_done("bad|1|completed")
    await space.check()


ROOM = Room(unproven=5, share=4, unproven_share=2)


async def ended(space: Namespace, urls: Mapping[str, str]) -> None:
    """Tasks that have ended, and whose webhooks wait: task id to URL."""
    options = {task_id: SubmitOptions(webhook=url) for task_id, url in urls.items()}
    await space.store.submit_with_options([submission(each, space.queue, options=options[each]) for each in urls])
    for task_id in urls:
        await space.store.cancel(task_id, "asked")
        await space.advance(1)


async def taken(space: Namespace, room: Room = ROOM, limit: int = 100) -> list[str]:
    notices, _ = await space.store.take_notices(limit, LEASE_MS, room)
    return [notice.name.split("|")[0] for notice in notices]


def many(prefix: str, number: int, url: str) -> dict[str, str]:
    return {f"{prefix}{n}": url for n in range(number)}


async def test_many_for_one_receiver_keep_no_other_waiting(space: Namespace) -> None:
    await ended(space, many("slow", 60, "http://slow.example/told") | {"other": "https://other.example/told"})
    assert await taken(space) == ["slow0", "slow1", "other"]
    assert await taken(space, replace(ROOM, busy={"slow.example:80": 2, "other.example:443": 1})) == []
    assert await taken(space, replace(ROOM, busy={"slow.example:80": 1})) == ["slow2"]
    await space.check()


async def test_paths_and_spellings_of_one_host_and_port_are_one_receiver(space: Namespace) -> None:
    urls = ("http://a.example/x", "http://A.example:80/y", "http://a.example", "http://a.example:81/")
    await ended(space, {f"t{n}": url for n, url in enumerate(urls)})
    assert await taken(space) == ["t0", "t1", "t3"]


@pytest.mark.parametrize("url", ["http://a.example", "https://A.example/x?y=@b", "http://[::1]/x", "http://[::1]:81"])
async def test_the_steward_spells_receivers_as_the_store_does(space: Namespace, url: str) -> None:
    await ended(space, {"t": url})
    [notice], _ = await space.store.take_notices(1, LEASE_MS)
    assert notice.receiver == receiver_of(url)


async def test_receivers_that_do_not_answer_leave_room_for_those_that_do(space: Namespace) -> None:
    await space.store.note_receiver("good.example:80", Answered.PROMPT)
    evil = {f"evil{n}": f"http://{n}.evil.example/" for n in range(20)}
    await ended(space, evil | many("good", 6, "http://good.example/"))
    found = await taken(space)
    assert found[:4] == [f"good{n}" for n in range(4)]
    assert len(found) == 4 + ROOM.unproven
    busy = {"good.example:80": 4}
    assert await taken(space, replace(ROOM, unproven=0, busy=busy)) == []
    assert await taken(space, replace(ROOM, unproven=0)) == ["good4", "good5"]


@pytest.mark.parametrize("answered", [Answered.SLOW, Answered.MISSED])
async def test_a_receiver_that_answers_no_more_stands_with_the_others(space: Namespace, answered: Answered) -> None:
    await space.store.note_receiver("a.example:80", Answered.PROMPT)
    await ended(space, many("t", 10, "http://a.example/"))
    assert len(await taken(space)) == ROOM.share
    await space.store.note_receiver("a.example:80", answered)
    assert await taken(space, replace(ROOM, unproven=0)) == []
    assert len(await taken(space)) == ROOM.unproven_share


async def test_receivers_take_turns(space: Namespace) -> None:
    await ended(
        space, many("a", 9, "http://a.example/") | many("b", 9, "http://b.example/") | {"c": "http://c.example"}
    )
    room = Room(unproven=2, unproven_share=2)
    assert [await taken(space, room) for _ in range(2) if await space.advance(1) is None] == [
        ["a0", "a1"],
        ["b0", "b1"],
    ]
    await space.advance(1)
    assert await taken(space, room) == ["c", "a2"]


async def test_a_receiver_that_misses_again_and_again_has_its_turn_less_often(space: Namespace) -> None:
    await ended(space, many("t", 60, "http://a.example/"))
    for _ in range(3):
        await space.store.note_receiver("a.example:80", Answered.MISSED)
        assert len(await taken(space)) == ROOM.unproven_share
    for rest_ms in (1000, 2000, 4000):
        await space.store.note_receiver("a.example:80", Answered.MISSED)
        assert await space.store.take_notices(10, LEASE_MS, ROOM) == ([], rest_ms)
        await ended(space, {f"new{rest_ms}": "http://a.example/"})
        await space.advance(rest_ms - 2)
        assert await taken(space) == []
        await space.advance(1)
        assert len(await taken(space)) == ROOM.unproven_share
    for _ in range(20):
        await space.store.note_receiver("a.example:80", Answered.MISSED)
    _, wait = await space.store.take_notices(10, LEASE_MS, ROOM)
    assert wait is not None
    assert wait <= 60_000
    await space.store.note_receiver("a.example:80", Answered.SLOW)
    assert len(await taken(space)) == ROOM.unproven_share


async def test_what_an_operator_has_tried_now_waits_for_no_turn(space: Namespace) -> None:
    await ended(space, {"t": "http://a.example/"})
    [notice], _ = await space.store.take_notices(10, LEASE_MS)
    for _ in range(20):
        await space.store.note_receiver("a.example:80", Answered.MISSED)
    assert await space.store.notice_now(notice.name)
    assert await taken(space) == ["t"]


async def test_a_notice_that_was_not_tried_has_as_many_tries_as_before(space: Namespace) -> None:
    await ended(space, {"t": "http://a.example/"})
    for untried, tries in ((True, 1), (False, 1), (False, 2)):
        [notice], _ = await space.store.take_notices(10, LEASE_MS)
        assert isinstance(notice, Notice)
        assert notice.tries == tries
        await space.store.notice_later(notice.name, 0, untried=untried)


async def test_a_notice_says_why_its_last_try_has_failed(space: Namespace) -> None:
    await ended(space, {"t": "http://a.example/"})
    [notice], _ = await space.store.take_notices(10, LEASE_MS)
    [listed] = (await space.store.outbox(0, 10)).waiting
    assert isinstance(listed.notice, Notice)
    assert listed.notice.why == ""
    await space.store.notice_later(notice.name, 0, "the receiver answered 503" + "!" * 10_000)
    await space.store.notice_later(notice.name, 0, untried=True)  # this keeps the reason
    [listed] = (await space.store.outbox(0, 10)).waiting
    assert isinstance(listed.notice, Notice)
    assert listed.notice.why == ("the receiver answered 503" + "!" * 10_000)[:200]
    assert (await space.store.outbox(0, 1, notice.name)).waiting == (listed,)
    assert (await space.store.outbox(0, 1, "another")).waiting == ()
    await space.do("SET", space.key(f"webhook:{notice.name}"), "x")
    await space.store.notice_later(notice.name, 0, "again")  # a damaged record stops nothing
    [spoilt] = (await space.store.outbox(0, 1, notice.name)).waiting
    assert not isinstance(spoilt.notice, Notice)


async def test_webhooks_for_one_receiver_leave_room_in_the_outbox() -> None:
    """As many for one as there is room besides."""
    kept = text("constants").replace("OUTBOX_KEPT = 100000", "OUTBOX_KEPT = 10")
    async with namespace(MEMORY, {"constants": kept}) as space:
        await ended(space, many("a", 9, "http://a.example/") | many("b", 9, "http://b.example/"))
        await ended(space, {"c": "http://c.example/"})
        outbox = await space.store.outbox(0, 100)
        told = [each.notice.name[0] for each in outbox.waiting]
        assert [told.count(each) for each in "abc"] == [5, 3, 1]


@pytest.mark.parametrize("key", ["receiver:a.example:80", "receivers", "receivers_prompt", "receivers_turn", "prompt"])
@pytest.mark.parametrize("how", ["gone", "other"])
async def test_what_is_damaged_of_a_receiver_stops_no_webhook(space: Namespace, key: str, how: str) -> None:
    await ended(space, many("a", 3, "http://a.example/") | many("b", 3, "http://b.example/"))
    await space.do("DEL", space.key(key))
    if how == "other":
        await space.do("SET", space.key(key), "x")
    await ended(space, {"c": "http://a.example/"})
    found: set[str] = set()
    for _ in range(20):
        notices, _ = await space.store.take_notices(10, LEASE_MS, ROOM)
        for notice in notices:
            found.add(notice.name.split("|")[0])
            await space.store.notice_done(notice.name)
    assert found == {"a0", "a1", "a2", "b0", "b1", "b2", "c"}


async def given_up(space: Namespace, task_id: str, why: str) -> Notice:
    """A webhook that was given up."""
    await space.register("a")
    options = SubmitOptions(webhook=f"https://example.org/{task_id}")
    await space.store.submit_with_options([submission(task_id, space.queue, options=options)])
    await space.settle("a", (await space.take("a"))[0], Settle.COMPLETED)
    [notice], _ = await space.store.take_notices(10, 1000)
    assert isinstance(notice, Notice)
    assert await space.store.notice_done(notice.name, why)
    return notice


async def test_a_webhook_that_was_given_up_is_kept_with_its_reason_and_tried_again(space: Namespace) -> None:
    notice = await given_up(space, "t1", "the receiver answers 410")
    [kept] = await space.store.given_up(10)
    assert (kept.notice.name, kept.notice.url, kept.notice.tries) == (notice.name, notice.url, 1)
    assert (kept.notice.at_ms, kept.why) == (notice.at_ms, "the receiver answers 410")
    assert await space.store.take_notices(10, 1000) == ([], None)
    assert await space.store.notice_now(notice.name)
    [again], _ = await space.store.take_notices(10, 1000)
    assert isinstance(again, Notice)
    assert (again.name, again.url, again.tries, again.public_id) == (notice.name, notice.url, 1, notice.public_id)
    assert await space.store.given_up(10) == []
    assert await space.store.notice_done(again.name)
    assert not await space.store.notice_now(notice.name), "it was delivered"
    await space.check()


async def test_a_delivered_webhook_is_none_of_those_that_were_given_up(space: Namespace) -> None:
    await given_up(space, "t1", "")
    assert await space.store.given_up(10) == []


async def test_an_entry_that_somebody_else_has_written_hides_no_other(space: Namespace) -> None:
    notice = await given_up(space, "t1", "no")
    await space.do("LPUSH", space.key("given_up"), "{", "7", '["x"]', "null")
    assert [each.notice.name for each in await space.store.given_up(10)] == [notice.name]
    assert await space.store.notice_now(notice.name)
    assert not await space.store.notice_now("nobody|1|completed")


async def test_only_the_last_webhooks_that_were_given_up_are_kept(space: Namespace) -> None:
    await space.do("RPUSH", space.key("given_up"), *(f"old {n}" for n in range(1000)))
    await given_up(space, "t1", "no")
    assert await space.do("LLEN", space.key("given_up")) == 1000
    assert len(await space.store.given_up(10)) == 1
