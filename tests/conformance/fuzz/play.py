"""One play: the dice choose commands, every store gets the same ones; in the end everything is looked at."""

from __future__ import annotations

import random
from collections import Counter

from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from tests.conformance.fuzz import commands
from tests.conformance.fuzz.commands import COMMANDS
from tests.conformance.fuzz.table import DifferenceError, Table
from tests.conformance.stand import Stand

__all__ = ["DifferenceError", "play"]

EVERYTHING = 10_000
LOOK_EVERY = 50
FEWEST = 2  # workers


async def play(stands: dict[str, Stand], seed: int, steps: int) -> Counter[str]:
    """Raises DifferenceError, which names the step; what happened how often."""
    table = Table(stands, random.Random(seed))
    for step in range(steps):
        try:
            await _step(table, step)
        except DifferenceError as error:
            raise DifferenceError(f"seed {seed}, step {step}: {error}") from None
    await _look_at_all(table)
    return table.seen


async def _step(table: Table, step: int) -> None:
    await table.advance(table.dice.choice([0, 1, 50, 400, 3_000]))
    while len(table.held) < FEWEST:
        await commands.begin(table)
    [command] = table.dice.choices(list(COMMANDS), list(COMMANDS.values()))
    await command(table)
    if step % LOOK_EVERY == 0:
        await _look_at_all(table)


async def _look_at_all(table: Table) -> None:
    for state in State:
        page = await table.ask(
            f"{state} tasks", lambda stand, state=state: stand.store.tasks(Wanted((state,)), EVERYTHING)
        )
        for task in page.tasks:
            table.seen[f"seen {state}"] += 1
            await table.ask("record", lambda stand, task=task: stand.store.get(task.task_id))
    await table.ask("counts", lambda stand: stand.store.counts())
    await table.ask("dead letters", lambda stand: stand.store.dead_letters(EVERYTHING))
    await table.ask("unreadable", lambda stand: stand.store.unreadable(EVERYTHING))
    await table.ask("workers", lambda stand: stand.store.workers())
    await table.ask("entries", lambda stand: stand.store.peek_entries(stand.queue, EVERYTHING))
