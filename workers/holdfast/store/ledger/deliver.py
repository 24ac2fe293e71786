"""Gives Redis the requests that producers wrote to PostgreSQL and could not give themselves, in the order of
acceptance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from holdfast.core.acceptance import Accepted, Submission
from holdfast.core.tasks import TaskObstacle
from holdfast.errors import StoreError, StoreFullError, StoreUnavailableError
from holdfast.store.ledger import change_requests
from holdfast.store.ledger.change_requests import PRODUCER_TIMEOUT
from holdfast.store.ledger.tables import requests, tasks
from holdfast.store.ledger.tables.requests import Waiting
from holdfast.store.redis.ledger import RedisLedger
from holdfast_config import library_log

LIMIT = 100

MESSAGES = ("run", "message")
REFUSALS = {
    Accepted.CONFLICT,
    Accepted.TERMINAL,
    Accepted.UNKNOWN,
    Accepted.NO_PARENT,
    Accepted.NO_LIST,
    Accepted.OTHER_BATCH,
    Accepted.BATCH_CLOSED,
    Accepted.TAKEN,
}  # no FULL: see requests

_log = library_log.get_logger("holdfast.ledger")


async def give(sql: Any, queue: str, redis: RedisLedger, epoch: str) -> bool:
    """Give the oldest requests to Redis. Returns True if there may be more. A request that Redis cannot take now stays
    for a later call."""
    waiting, more = await requests.waiting(sql, queue, PRODUCER_TIMEOUT, LIMIT)
    for verb, group in groupby(waiting, lambda one: one.verb):
        some = list(group)
        give_some = _give_messages if verb in MESSAGES else _give_asks
        if not await give_some(sql, queue, redis, epoch, some):
            return False
    return more


async def _give_messages(sql: Any, queue: str, redis: RedisLedger, epoch: str, some: list[Waiting]) -> bool:
    """Give Redis these requests, which make tasks or add messages. A message that the ledger already has is not given
    again: a Redis that has lost the message would take it as new.

    The producers were told that their requests are accepted. So if Redis refuses a request, the store keeps a record of
    the refusal.
    """
    await requests.drop(sql, [one.request for one in some if one.known])
    open_ones = [one for one in some if not one.known and not one.ended]
    batch = [one.submission for one in open_ones if one.submission]
    await put_back_parents(sql, queue, redis, epoch, batch)
    late = [one for one in some if not one.known and one.ended]
    put_off = await _waiting_parents(sql, queue, open_ones)
    return await _give_promised(sql, redis, epoch, open_ones, some[0].verb, put_off) and await _give_promised(
        sql, redis, epoch, late, "message", set()
    )


async def _waiting_parents(sql: Any, queue: str, some: list[Waiting]) -> set[str]:
    """The parents of these tasks that are not in Redis yet, because an earlier try to give them to Redis failed."""
    parents = {parent for one in some for parent in _after(one)}
    return await requests.still_waiting(sql, queue, parents, [one.request for one in some]) if parents else set()


def _after(one: Waiting) -> tuple[str, ...]:
    return one.submission.options.after if one.submission and one.submission.options else ()


async def _give_promised(
    sql: Any, redis: RedisLedger, epoch: str, some: list[Waiting], verb: str, put_off: set[str]
) -> bool:
    """Give these requests to Redis in one call. If the call fails because keys of one task are damaged, give each by
    itself. A task whose parent is in `put_off` is put off as well, because Redis does not have the parent yet and would
    reject the task.
    """
    some = [one for one in some if not await _is_put_off(sql, one, put_off)]
    batch = [(one.submission, True) for one in some if one.submission]
    try:
        receipts = await redis.give(epoch, batch, verb) if batch else []
    except (StoreUnavailableError, StoreFullError):
        raise
    except StoreError as error:
        if len(some) == 1:
            await _put_off(sql, some[0], str(error))
            put_off.add(some[0].task_id)
            return True
        return all([await _give_promised(sql, redis, epoch, [one], verb, put_off) for one in some])
    if receipts is None:
        return False
    for one, receipt in zip(some, receipts, strict=True):
        if receipt.accepted in REFUSALS:
            await _refused(sql, one, receipt.accepted)
            continue
        if receipt.accepted is Accepted.REJECTED:
            _log.warning("an accepted task is rejected: Redis cannot take it", task=one.task_id)
        await requests.given(sql, [one.request])
    return True


async def put_back_parents(sql: Any, queue: str, redis: RedisLedger, epoch: str, batch: Sequence[Submission]) -> None:
    """Put the parents of these tasks back into Redis, if the ledger knows that they have ended."""
    parents = {parent for one in batch if one.options for parent in one.options.after}
    async for ended in tasks.ended_of(sql, queue, parents):
        await redis.restore(epoch, ended)


async def _give_asks(sql: Any, _: str, redis: RedisLedger, epoch: str, some: list[Waiting]) -> bool:
    for one in some:
        try:
            word = await redis.ask(epoch, one.request, one.verb, one.task_id, one.reason)
        except (StoreUnavailableError, StoreFullError):
            raise
        except StoreError as error:
            await _put_off(sql, one, str(error))
            continue
        if word is None:
            return False
        if word is TaskObstacle.DAMAGED:
            await _put_off(sql, one, "the record of its task is damaged")
        elif word is TaskObstacle.UNKNOWN:  # ended long ago, or never known
            await requests.drop(sql, [one.request])
        else:
            await requests.given(sql, [one.request])
    return True


async def give_changes(
    sql: Any, queue: str, redis: RedisLedger, epoch: str, of: str = "", min_age: float = 0.0
) -> None:
    """Carry out the waiting changes of settings whose names begin with `of`. Changes that are younger than `min_age`
    seconds are left to their producers. Call this when all events of Redis were read: then no change that Redis has
    carried out is left here.
    """
    while some := await change_requests.waiting(sql, queue, of, min_age, LIMIT):
        for one in some:
            await _give_change(sql, redis, epoch, one)


async def _give_change(sql: Any, redis: RedisLedger, epoch: str, one: change_requests.Change) -> None:
    try:
        answer = await redis.request(epoch, one.setting, one.request, one.operation, one.args)
    except StoreUnavailableError:
        raise
    except StoreError as error:  # it will never succeed, and others wait behind it
        _log.warning("Redis refused a change from PostgreSQL", setting=one.setting, reason=str(error))
        return await requests.drop(sql, [one.request])
    if answer is None:
        raise StoreUnavailableError("PostgreSQL no longer follows this Redis")
    return await requests.given(sql, [one.request])


async def _put_off(sql: Any, one: Waiting, reason: str) -> None:
    """Put off a request that Redis cannot carry out now. It is given again later, and other requests do not wait for
    it."""
    _log.warning("Redis fails at a request from PostgreSQL: it is sent again later", task=one.task_id, reason=reason)
    await requests.put_off(sql, one.request)


async def _is_put_off(sql: Any, one: Waiting, put_off: set[str]) -> bool:
    """Put off the task if one of its parents was put off. Returns True if the task was put off."""
    parent = next((parent for parent in _after(one) if parent in put_off), None)
    if parent is None:
        return False
    await _put_off(sql, one, f"task {parent}, after which it is to run, was not given yet")
    put_off.add(one.task_id)
    return True


async def _refused(sql: Any, one: Waiting, word: Accepted) -> None:
    message = one.submission.message_id if one.submission else ""
    _log.warning("Redis refused a message from PostgreSQL", task=one.task_id, message=message, reason=str(word))
    await requests.refused(sql, one.request, word)
