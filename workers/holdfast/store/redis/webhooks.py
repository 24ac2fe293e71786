"""The Redis calls about webhooks."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.core.webhook_notice import (
    Answered,
    GivenUpNotice,
    Notice,
    Outbox,
    Room,
    SpoiltNotice,
    WaitingNotice,
    WebhookChange,
)
from holdfast.store.redis.connection import RedisPart
from holdfast.store.redis.decode import pairs

WHY_KEPT = 200  # characters of the reason why a try has failed


class RedisWebhooks(RedisPart):
    """The calls about webhooks: URLs that get a request when a task ends."""

    async def take_notices(
        self, limit: int, lease_ms: int, room: Room | None = None
    ) -> tuple[list[Notice | SpoiltNotice], int | None]:
        """Take notices to post now; no other steward gets these notices for `lease_ms`. Also returns the milliseconds
        until the next notice is due (None: none waits). `room`: limits for receivers (None: no limits)."""
        room = room or Room()
        bounds = (room.unproven, room.share, room.unproven_share)
        busy = [word for pair in room.busy.items() for word in pair]
        wait, *flat = await self._run("webhooks_take", limit, lease_ms, *bounds, *busy)
        taken = [
            replace(_notice(name.decode(), fields), receiver=receiver.decode(), is_prompt=is_prompt == 1)
            for name, receiver, is_prompt, fields in zip(flat[::4], flat[1::4], flat[2::4], flat[3::4], strict=True)
        ]
        return taken, None if wait < 0 else wait

    async def note_receiver(self, receiver: str, answered: Answered) -> None:
        """Record how a receiver answered a notice. This decides when the receiver gets its next notice."""
        await self._run("webhook_receiver", receiver, answered)

    async def notice_done(self, name: str, why: str = "", at_ms: int | None = None) -> bool:
        """Mark a notice as posted, or as given up for the reason `why`. Returns False if it was already marked.

        `at_ms`: the moment of the posted notice. If the task has made progress since that moment, the store posts the
        new progress next.
        """
        return await self._number("webhook_done", name, why, "" if at_ms is None else at_ms) == 1

    async def notice_later(self, name: str, delay_ms: int, why: str = "", *, untried: bool = False) -> None:
        """Put back a notice that the steward has taken, to be posted after a delay. `why`: the reason why this try has
        failed; the list of notices shows its first characters. `untried`: the steward has not posted the notice, so
        this does not count as a try."""
        await self._run("webhook_later", name, delay_ms, int(untried), why[:WHY_KEPT])

    async def outbox(self, offset: int, limit: int, only: str = "") -> Outbox:
        """A page of notices that wait to be posted, in the order of posting; the first `offset` notices are skipped.
        `only`: the name of the one notice to list, if it waits."""
        url, total, *flat = await self._run("webhooks_list", offset, limit, only)
        each = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        waiting = tuple(WaitingNotice(_notice(name.decode(), fields), due) for name, due, fields in each)
        return Outbox(url.decode(), total, waiting)

    async def given_up(self, limit: int) -> list[GivenUpNotice]:
        """The notices that were given up; the notice that was given up last comes first. The store keeps a thousand."""
        entries = await self._command("LRANGE", self._keys["given_up"], 0, limit - 1)
        return [notice for entry in entries if (notice := _given_up(entry))]

    async def notice_now(self, name: str) -> bool:
        """Have a notice posted at once. Returns False if the notice neither waits nor was given up."""
        return await self._number("webhook_now", name) == 1

    async def set_webhook(self, url: str) -> None:
        """Set the URL for all tasks without a URL of their own; '' removes it."""
        await self._run("webhook_set", url)

    async def set_webhook_of_task(self, task_id: str, known: str, url: str) -> WebhookChange:
        """Set the URL of one task ('': none), if its present URL is `known`."""
        return WebhookChange(await self._word("webhook_of_task", task_id, known, url))

    async def wait_notices(self, timeout: float) -> bool:
        """Block until a new notice appears, at most `timeout` seconds."""
        return await self._block(timeout, "BRPOP", self._keys["webhooks_control"], timeout) is not None


def _given_up(entry: bytes) -> GivenUpNotice | None:
    """None if somebody else has written the entry."""
    try:
        name, turn, state, url, at, tries, given_up_ms, why = msgspec.json.decode(entry, type=list[str])
        notice = Notice(name, name.partition("|")[0], int(turn), state, url, int(at), int(tries))
        return GivenUpNotice(notice, int(given_up_ms), why)
    except (ValueError, *UNREADABLE_JSON):
        return None


def _notice(name: str, flat: list[bytes]) -> Notice | SpoiltNotice:
    try:
        fields = {key: value.decode() for key, value in pairs(flat)}
        turn, at, tries = (int(fields[key]) for key in ("turn", "at", "tries"))
        return Notice(name, fields["task"], turn, fields["state"], fields["url"], at, tries, fields.get("why", ""))
    except (KeyError, ValueError) as error:
        return SpoiltNotice(name, f"its record is unreadable: {type(error).__name__} {error}")
