"""Carries out what an operator has confirmed in `top`."""

from __future__ import annotations

from holdfast.store.protocol import Store
from holdfastd.cli.top.panes import Row
from holdfastd.cli.top.screen_state import Order
from holdfastd.cli.views.operator import operator

REASON = "ordered in top"


async def carry_out(order: Order, row: Row, store: Store) -> str:
    """One line on what was done, or why nothing was."""
    match order:
        case Order.QUIET if row.host:
            done = await store.quiet_host(row.host, operator(), REASON)
            return f"host {row.host} is quiet{'' if done.is_new else ' already'}"
        case Order.RESUME if row.host:
            done = await store.resume_host(row.host, operator())
            return f"host {row.host} {'claims tasks again' if done.is_new else 'was not quiet'}"
        case Order.RETRY if row.task_id:
            answer = await store.retry(row.task_id, REASON)
            return f"task {row.task_id}: {answer.word}"
        case Order.CANCEL if row.task_id:
            return f"task {row.task_id} is {await store.cancel(row.task_id, REASON)}"
        case Order.QUIET | Order.RESUME:
            return f"{order}: select a worker first (pane 1)"
        case _:
            return f"{order}: select a task first"
