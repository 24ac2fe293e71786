"""A pool at work while workers are killed at random: the small run of `python -m tests.faults.kills`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.kills import drain_under_kills

pytestmark = pytest.mark.anyio


async def test_every_task_completes_once_while_random_workers_are_killed(short_path: Path) -> None:
    ledger = await drain_under_kills(short_path, tasks=1500, seed=1, every=0.1)
    assert ledger.kills > 0
    assert ledger.balances, str(ledger)


async def test_every_task_completes_once_while_anybody_may_be_killed(short_path: Path) -> None:
    kinds = ("worker", "steward", "store")
    ledger = await drain_under_kills(short_path, tasks=600, seed=2, every=0.15, workers=4, kinds=kinds)
    assert ledger.kills > 0
    assert ledger.balances, str(ledger)
