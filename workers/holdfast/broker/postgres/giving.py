"""Giving Redis the requests that their producers could not give, in the order in which they were accepted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import structlog

from holdfast.broker.postgres import requests, tasks
from holdfast.broker.postgres.requests import Waiting
from holdfast.broker.redis.ledger import LedgerRole
from holdfast.core.records import Accepted, Submission

LIMIT = 100
PATIENCE = 1.0  # seconds in which the producer gives it itself

MESSAGES = ("run", "message")
REFUSALS = {Accepted.CONFLICT, Accepted.TERMINAL, Accepted.UNKNOWN, Accepted.NO_PARENT}

_log = structlog.get_logger("holdfast.ledger")


async def give(sql: Any, queue: str, redis: LedgerRole, epoch: str) -> bool:
    """Give the oldest; whether there may be more. What Redis cannot take now waits on."""
    waiting = await requests.waiting(sql, queue, PATIENCE, LIMIT)
    for verb, group in groupby(waiting, lambda one: one.verb):
        some = list(group)
        give_some = _give_messages if verb in MESSAGES else _give_asks
        if not await give_some(sql, queue, redis, epoch, some):
            return False
    return len(waiting) == LIMIT


async def _give_messages(sql: Any, queue: str, redis: LedgerRole, epoch: str, some: list[Waiting]) -> bool:
    """What the ledger knows to be done is not given again: to a Redis that has forgotten it, it would be new."""
    await requests.drop(sql, [one.request for one in some if one.known])
    for one in some:
        if one.ended and not one.known:
            await _refused(sql, one, Accepted.TERMINAL)
    ready = [one for one in some if not one.known and not one.ended]
    batch = [one.submission for one in ready if one.submission]
    await put_back_parents(sql, queue, redis, epoch, batch)
    receipts = await redis.give(epoch, batch, some[0].verb) if batch else []
    if receipts is None:
        return False
    for one, receipt in zip(ready, receipts, strict=True):
        if receipt.accepted in REFUSALS:
            await _refused(sql, one, receipt.accepted)
        elif receipt.task_id != one.task_id:  # another task holds its unique key
            await requests.drop(sql, [one.request])
        else:
            await requests.given(sql, [one.request])
    return True


async def put_back_parents(sql: Any, queue: str, redis: LedgerRole, epoch: str, batch: Sequence[Submission]) -> None:
    """A task may be made to wait for one that has ended long ago: Redis is told how that ended."""
    parents = {parent for one in batch if one.terms for parent in one.terms.after}
    if parents and (ended := await tasks.ended_of(sql, queue, parents)):
        await redis.restore(epoch, ended)


async def _give_asks(sql: Any, _: str, redis: LedgerRole, epoch: str, some: list[Waiting]) -> bool:
    for one in some:
        word = await redis.ask(epoch, one.request, one.verb, one.task_id, one.reason)
        if word is None:
            return False
        if word == "unknown":  # it has ended long ago, or was never there
            await requests.drop(sql, [one.request])
        else:
            await requests.given(sql, [one.request])
    return True


async def _refused(sql: Any, one: Waiting, word: Accepted) -> None:
    message = one.submission.message_id if one.submission else ""
    _log.warning("a message was refused when its turn came", task=one.task_id, message=message, reason=str(word))
    await requests.refused(sql, one.request, word)
