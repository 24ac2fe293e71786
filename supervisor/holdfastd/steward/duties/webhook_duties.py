"""Webhooks delivers the notices of the store's outbox: each notice at least once, with retries, by any steward."""

from __future__ import annotations

import random

import anyio
import structlog

from holdfast.core.settle import RetryPolicy, back_off
from holdfast.core.webhook_notice import Notice, SpoiltNotice
from holdfast.core.words import counted
from holdfast.errors import StoreError
from holdfast.store import Store
from holdfast_config import Settings
from holdfast_config.redis_urls import mask_webhook
from holdfastd.steward.duty import Duty
from holdfastd.steward.receivers import AT_ONCE, ReceiverPlace, Receivers

LONGEST_REST = 15.0  # seconds: the longest delay after a lost alarm
LONGEST_PAUSE = 3600.0  # seconds between two attempts
BUSY_MS = 1000  # a notice waits this long if its receiver has no free place

_log = structlog.get_logger("holdfast.steward")


class Webhooks:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._policy = RetryPolicy(settings.webhook_attempts, max(settings.retry_base, 0.05), LONGEST_PAUSE)
        self._announced = settings.webhook_url is None
        self.receivers = Receivers(store)

    def duty(self) -> Duty:
        return Duty("webhooks", self.run_once, self._store.wait_notices)

    async def run_once(self) -> float:
        """Post the notices that are due, until no post is under way any more. Notices that become due in the meantime
        are posted at once, so a slow receiver does not make the others wait. Returns the seconds until the next notice
        is due."""
        await self._announce()
        # The lease is longer than an attempt, so that no other steward attempts the same notice meanwhile.
        lease = round(self._settings.webhook_timeout * 2000) + 1000
        receivers, rest = self.receivers, 0.0
        async with anyio.create_task_group() as group:
            while True:
                notices, wait = await self._store.take_notices(AT_ONCE - receivers.number, lease, receivers.room)
                for notice in notices:
                    group.start_soon(self._run, notice, receivers.begin(notice))
                rest = LONGEST_REST if wait is None else min(wait / 1000, LONGEST_REST)
                if not receivers.number:
                    break
                if not notices or receivers.number == AT_ONCE:
                    await self._until_next(rest)
        return rest

    async def _until_next(self, rest: float) -> None:
        """Wait until a post ends. If there is room for another notice, wait at most until the next one is due."""
        ended = self.receivers.ended
        async with anyio.create_task_group() as group:

            async def wait_for_more() -> None:
                await self._store.wait_notices(rest)
                group.cancel_scope.cancel()

            if self.receivers.number < AT_ONCE:
                group.start_soon(wait_for_more)
            await ended.wait()
            group.cancel_scope.cancel()

    async def _run(self, notice: Notice | SpoiltNotice, place: ReceiverPlace) -> None:
        try:
            if isinstance(notice, SpoiltNotice):
                await self._set_aside(notice)
            else:
                await self._tell(notice, place)
        finally:
            self.receivers.end(place)

    async def _announce(self) -> None:
        """Write the queue's webhook from the settings to the store, where the scripts read it. It applies to all hosts;
        the value `off` removes it."""
        if not self._announced:
            url = self._settings.webhook_url or ""
            await self._store.set_webhook("" if url == "off" else url)
            self._announced = True
            _log.info("the webhook of the queue was set", url=mask_webhook(url))

    async def _tell(self, notice: Notice, place: ReceiverPlace) -> None:
        from holdfastd.steward.webhook_post import BusyError, MissedError, NoticeDelivery, Poster, RefusedError

        settings = self._settings
        secret = settings.webhook_secret.get_secret_value() if settings.webhook_secret else None
        poster = Poster(secret, settings.webhook_allow_private, settings.webhook_timeout)
        try:
            await NoticeDelivery(self._store, poster, self.receivers, place).deliver(notice)
        except StoreError:
            raise
        except BusyError:
            await self._store.notice_later(notice.name, BUSY_MS, untried=True)
        except MissedError as error:
            await self._missed(notice, str(error))
        except (RefusedError, ValueError) as error:
            await self._give_up(notice, str(error))
        except Exception as error:  # one notice's error must not stop the others
            _log.exception("an unexpected error ended the try of a webhook", task=notice.task_id)
            await self._missed(notice, f"{type(error).__name__}: {error}")
        else:
            await self._store.notice_done(notice.name, at_ms=notice.at_ms)

    async def _missed(self, notice: Notice, why: str) -> None:
        if notice.tries >= self._policy.max_attempts:
            return await self._give_up(notice, f"{why}, {counted(notice.tries, 'time')}")
        pause = back_off(self._policy, notice.tries, random.random())
        await self._store.notice_later(notice.name, round(pause * 1000), why)
        _log.info(
            "a webhook could not be delivered: it is retried later", task=notice.task_id, reason=why, tries=notice.tries
        )
        return None

    async def _set_aside(self, notice: SpoiltNotice) -> None:
        if await self._store.notice_done(notice.name, notice.why):
            _log.warning(
                "a webhook notice cannot be decoded: it is not delivered", notice=notice.name, reason=notice.why
            )

    async def _give_up(self, notice: Notice, why: str) -> None:
        if await self._store.notice_done(notice.name, why, notice.at_ms):
            _log.warning(
                "a webhook is not delivered: no attempt is left or it was refused",
                task=notice.task_id,
                state=notice.state,
                reason=why,
            )
