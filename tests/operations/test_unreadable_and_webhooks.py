"""The acts on unreadable entries and on webhooks that wait, through each of their faces."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings
from holdfastd.operations.unreadable import (
    REMOVE_ALL_UNREADABLE,
    REMOVE_UNREADABLE,
    RETRY_ALL_UNREADABLE,
    RETRY_UNREADABLE,
)
from holdfastd.operations.webhooks import GIVE_UP_WEBHOOK, RETRY_ALL_WEBHOOKS, RETRY_WEBHOOK
from tests.cli.commands import Cli
from tests.lua.operations import admission
from tests.operations.faces import FACES, Case
from tests.web.site import Site, site
from tests.web.test_pages import push
from tests.web.test_webhooks_page import end_a_task

pytestmark = pytest.mark.anyio

GONE = "1-nothing"
UNREADABLE = ("queue", "unreadable")
RETRY = Case(
    RETRY_UNREADABLE, "", (*UNREADABLE, "retry"), ("POST", "/queue/unreadable/{}/retry"), answers={"answer": "back"}
)
REMOVE = Case(
    REMOVE_UNREADABLE, "", (*UNREADABLE, "remove", "--yes"), ("DELETE", "/queue/unreadable/{}"), answers={"purged": 1}
)
TRY_NOW = Case(RETRY_WEBHOOK, "", ("webhooks", "retry"), ("POST", "/webhooks/{}/retry"), answers={"answer": "due"})
GIVE_UP = Case(
    GIVE_UP_WEBHOOK,
    "",
    ("webhooks", "give-up"),
    ("POST", "/webhooks/{}/give-up"),
    {"reason": "moved"},
    answers={"answer": "given-up"},
)
LONG = replace(GIVE_UP, given={"reason": "x" * 1001}, answers=None, refusal="use a text of at most 1000 characters")


async def set_aside(here: Site, redis: RedisSettings, *entries: str) -> list[str]:
    """The addresses, oldest first."""
    for entry in entries:
        await push(redis, entry)
    await here.store.register(Introduction("w-1", "host", "boot", 7, 0))
    await here.store.pull("w-1", 1, 10, [redis.queue], [])
    return [each.address for each in reversed(await here.store.unreadable(10))]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("case", [RETRY, REMOVE], ids=str)
async def test_an_act_on_an_entry_is_the_same_through_each_face(
    redis_settings: RedisSettings, cli: Cli, case: Case, face: str
) -> None:
    async with site(redis_settings) as here:
        (address,) = await set_aside(here, redis_settings, "{not json")
        made = replace(case, subject=address, words=(*case.words, address))
        said = await FACES[face](cli, here, made)
        assert said.refusal == ""
        if face == "command" or (case is RETRY and face == "route"):
            assert isinstance(said.answer, dict)
            assert {**said.answer, **(case.answers or {})} == said.answer
        assert (said.note.change, said.note.subject, said.note.is_refused) == (case.act.name, address, False)
        assert not await here.store.unreadable(10)
        for again in (made, replace(case, subject=GONE, words=(*case.words, GONE))):
            refused = await FACES[face](cli, here, again)
            why = f"entry {again.subject} does not exist (any more)"
            assert why in refused.refusal
            assert (refused.note.change, refused.note.subject, refused.note.is_refused) == (
                case.act.name,
                again.subject,
                True,
            )
            assert why in refused.note.outcome
        assert len(await here.store.activity_before("", 10)) == 3


@pytest.mark.parametrize("face", FACES)
async def test_an_entry_of_which_only_the_beginning_is_kept_is_not_put_back(
    redis_settings: RedisSettings, cli: Cli, face: str
) -> None:
    async with site(redis_settings) as here:
        assert not await set_aside(here, redis_settings, "{" + "x" * 70_000)
        inbox = await here.store.inbox("w-1")  # the worker has to look at one of that size itself
        assert inbox is not None
        await here.store.admit("w-1", admission(inbox[1]))
        (address,) = [each.address for each in await here.store.unreadable(10)]
        said = await FACES[face](cli, here, replace(RETRY, subject=address, words=(*RETRY.words, address)))
        assert "only its beginning was kept" in said.refusal
        assert (said.note.subject, said.note.is_refused) == (address, True)


async def test_a_command_notes_each_entry_that_it_changes(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        first, second = await set_aside(here, redis_settings, "{1", "{2")
        assert (await anyio.to_thread.run_sync(cli, *UNREADABLE, "retry", "--all")).status == 0
        notes = await here.store.activity_before("", 10)
        assert [(each.change, each.subject) for each in reversed(notes)] == [
            ("unreadable/retry", first),
            ("unreadable/retry", second),
        ]
        await here.store.pull("w-1", 2, 10, [redis_settings.queue], [])
        removed = await FACES["command"](cli, here, Case(REMOVE_ALL_UNREADABLE, "", (*REMOVE.words, "--all"), ("", "")))
        assert (removed.answer, removed.note.change) == ({"purged": 2}, "unreadable/remove-all")
        assert len(await here.store.activity_before("", 10)) == 3


async def test_all_entries_are_put_back_or_removed_at_once_on_the_page(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        await set_aside(here, redis_settings, "{1", "{2")
        assert "Put back all 2" in await here.page("/unreadable")
        said = await FACES["form"](cli, here, Case(RETRY_ALL_UNREADABLE, "", (), ("", "")))
        assert (said.note.outcome, await here.store.unreadable(10)) == ("2 put back", [])
        await here.store.pull("w-1", 2, 10, [redis_settings.queue], [])
        assert [each.raw for each in reversed(await here.store.unreadable(10))] == [b"{1", b"{2"], "oldest first"
        said = await FACES["form"](cli, here, Case(REMOVE_ALL_UNREADABLE, "", (), ("", "")))
        assert (said.note.outcome, await here.store.unreadable(10)) == ("2 removed", [])


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("case", [TRY_NOW, GIVE_UP, LONG], ids=str)
async def test_an_act_on_a_webhook_is_the_same_through_each_face(
    redis_settings: RedisSettings, cli: Cli, case: Case, face: str
) -> None:
    async with site(redis_settings) as here:
        await end_a_task(here, redis_settings.queue)
        (waiting,) = (await here.store.outbox(0, 10)).waiting
        name = waiting.notice.name
        said = await FACES[face](cli, here, replace(case, subject=name, words=(*case.words, name)))
        assert case.refusal in said.refusal if case.refusal else said.refusal == ""
        if face != "form" and case.answers:
            assert said.answer == {"webhook": name, **case.answers}
        assert (said.note.change, said.note.subject) == (case.act.name, name)
        assert said.note.is_refused == bool(case.refusal)
        if not case.refusal:
            unknown = await FACES[face](cli, here, replace(case, subject="t|none", words=(*case.words, "t|none")))
            assert "webhook t|none " in unknown.refusal
            assert ("does not wait (any more)" in unknown.refusal) == (case.act.name == "webhooks/remove")
            assert (unknown.note.subject, unknown.note.is_refused) == ("t|none", True)


async def test_webhooks_are_listed_with_the_reason_and_tried_again_all_at_once(
    redis_settings: RedisSettings, cli: Cli
) -> None:
    async with site(redis_settings) as here:
        for task_id in ("kept", "lost", "new"):
            await end_a_task(here, redis_settings.queue, task_id)
            (notice,) = (await here.store.take_notices(10, 3_600_000))[0]
            if task_id == "kept":
                await here.store.notice_later(notice.name, 3_600_000, "the receiver answered 503")
            elif task_id == "lost":
                await here.store.notice_done(notice.name, "no answer within 10 s")
        listed = (await anyio.to_thread.run_sync(cli, "webhooks", "--json")).document
        assert {each["task_id"]: each["why"] for each in listed["webhooks"]} == {
            "kept": "the receiver answered 503",
            "new": "",
        }
        assert [(each["task_id"], each["why"]) for each in listed["given_up"]] == [("lost", "no answer within 10 s")]
        shown = (await anyio.to_thread.run_sync(cli, "webhooks")).out
        for word in ("retrying", "waiting", "given up", "the receiver answered 503", "no answer within 10 s"):
            assert word in shown
        assert "hunter2" not in shown
        why = (await anyio.to_thread.run_sync(cli, "why", "kept")).out
        assert "its webhook could not be delivered (1 try: the receiver answered 503), the next try is in " in why
        assert "webhook" not in (await anyio.to_thread.run_sync(cli, "why", "new")).out
        by_command = Case(RETRY_ALL_WEBHOOKS, "", ("webhooks", "retry", "--all"), ("", ""))
        said = await FACES["command"](cli, here, by_command)
        assert (said.answer, said.note.outcome) == ({"tried": 3, "left": 0}, "3 are tried now")
        assert len((await here.store.take_notices(10, 3_600_000))[0]) == 3
        assert "Try all now" in await here.page("/webhooks")
        said = await FACES["form"](cli, here, by_command)
        assert (said.note.change, said.note.outcome) == ("webhooks/retry-all", "3 are tried now")
        wrong = await anyio.to_thread.run_sync(cli, "webhooks", "retry")
        assert (wrong.status, "or give --all" in wrong.err) == (2, True)
