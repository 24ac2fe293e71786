"""Giving Redis the requests that their producers could not give, in the order in which they were accepted."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import structlog

from holdfast.broker.postgres import requests
from holdfast.broker.postgres.requests import Waiting
from holdfast.broker.redis.ledger import LedgerRole
from holdfast.core.records import Accepted

LIMIT = 100
PATIENCE = 1.0  # seconds in which the producer gives it itself

MESSAGES = ("run", "message")
_REFUSALS = {Accepted.CONFLICT, Accepted.TERMINAL, Accepted.UNKNOWN}

_log = structlog.get_logger("holdfast.ledger")


async def give(sql: Any, queue: str, redis: LedgerRole, epoch: str) -> bool:
    """Give the oldest; whether there may be more. What Redis cannot take now waits on."""
    waiting = await requests.waiting(sql, queue, PATIENCE, LIMIT)
    for verb, group in groupby(waiting, lambda one: one.verb):
        some = list(group)
        give_some = _give_messages if verb in MESSAGES else _give_asks
        if not await give_some(sql, redis, epoch, some):
            return False
    return len(waiting) == LIMIT


async def _give_messages(sql: Any, redis: LedgerRole, epoch: str, some: list[Waiting]) -> bool:
    """What the ledger knows to be done is not given again: to a Redis that has forgotten it, it would be new."""
    await requests.drop(sql, [one.request for one in some if one.known])
    for one in some:
        if one.ended and not one.known:
            await _refused(sql, one, Accepted.TERMINAL)
    ready = [one for one in some if not one.known and not one.ended]
    answers = (
        await redis.give(epoch, [one.submission for one in ready if one.submission], some[0].verb) if ready else []
    )
    if answers is None:
        return False
    for one, word in zip(ready, answers, strict=True):
        if word in _REFUSALS:
            await _refused(sql, one, word)
    await requests.given(sql, [one.request for one, word in zip(ready, answers, strict=True) if word not in _REFUSALS])
    return True


async def _give_asks(sql: Any, redis: LedgerRole, epoch: str, some: list[Waiting]) -> bool:
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
