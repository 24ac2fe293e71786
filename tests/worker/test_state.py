"""Decisions of one worker: how many tasks it may claim, and if a bell is of use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from holdfast.core.pull_protocol import Exchange, Lease
from holdfast.core.recycle import RecycleLimits, WorkerUse
from holdfast.worker.state import Changes, WorkerState, heeds_bells, slots_to_claim
from tests.handler.deliveries import delivery_of

NOW, LEASE_END = 100.0, 115.0


def state_of(**fields: Any) -> WorkerState:
    """Of a worker with three slots, one of them taken."""
    exchange = Exchange(3, held={"t-1": delivery_of()})
    return replace(WorkerState(exchange, Lease(LEASE_END - NOW, NOW)), **fields)


ALLOWED = [
    ("nothing stands against it", {}, NOW, 2),
    ("its lease has ended", {}, LEASE_END, 0),
    ("it drains", {"is_draining": True}, NOW, 0),
    ("nobody would begin a task", {"is_ready": False}, NOW, 0),
    ("one more task fills its life", {"limits": RecycleLimits(9, 9), "use": WorkerUse(done=7)}, NOW, 1),
    ("its memory is full", {"limits": RecycleLimits(memory=100), "use": WorkerUse(1, 50, 99, 99)}, NOW, 0),
    ("it keeps apart: the store decides", {"is_apart": True}, NOW, 2),
    ("its host is quiet: the store decides", {"is_quiet": True}, NOW, 2),
]


@pytest.mark.parametrize(("fields", "now", "slots"), [row[1:] for row in ALLOWED], ids=[row[0] for row in ALLOWED])
def test_a_worker_claims_what_its_state_allows(fields: dict[str, Any], now: float, slots: int) -> None:
    assert slots_to_claim(state_of(**fields), now) == slots


BELLS = [
    ("it may claim", {}, NOW, True),
    ("it may not claim", {"is_draining": True}, NOW, False),
    ("its lease has ended", {}, LEASE_END, False),
    ("its host is quiet", {"is_quiet": True}, NOW, False),
    ("it keeps apart", {"is_apart": True}, NOW, False),
    ("it is about to ask", {"pull_wanted": True}, NOW, False),
]


@pytest.mark.parametrize(("fields", "now", "heeds"), [row[1:] for row in BELLS], ids=[row[0] for row in BELLS])
def test_a_bell_is_of_use_only_to_a_worker_that_may_claim_and_is_not_about_to_ask(
    fields: dict[str, Any], now: float, heeds: bool
) -> None:
    assert heeds_bells(state_of(**fields), now) is heeds


@pytest.mark.anyio
async def test_a_change_wakes_those_alone_whose_condition_it_makes_true() -> None:
    changes, truths, woken = Changes(), set[str](), list[str]()

    async def wait(name: str) -> None:
        await changes.until(lambda: name in truths)
        woken.append(name)

    async with anyio.create_task_group() as group:
        for name in ("first", "second"):
            group.start_soon(wait, name)
        for name, expected in (("second", ["second"]), ("first", ["second", "first"])):
            await anyio.wait_all_tasks_blocked()
            truths.add(name)
            changes.announce()
            await anyio.wait_all_tasks_blocked()
            assert woken == expected
        await wait("first")


@pytest.mark.anyio
async def test_a_condition_that_is_false_again_before_its_waiter_runs_is_waited_for_again() -> None:
    changes, truth, woken = Changes(), list[bool](), list[bool]()

    async def wait() -> None:
        await changes.until(lambda: bool(truth))
        woken.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        truth.append(True)
        changes.announce()
        truth.clear()
        await anyio.wait_all_tasks_blocked()
        assert not woken
        truth.append(True)
        changes.announce()
