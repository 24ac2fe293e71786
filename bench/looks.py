"""The calls that a steward, a worker and people make all the time, each as they make it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from bench import work
from bench.hand import INCARNATION, Hand
from bench.producing import QUEUE
from holdfast.core.counts import Epoch
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfastd.cli.event_commands import PAGE as EVENTS
from holdfastd.cli.tasks.list_and_show import PAGE
from holdfastd.documents.task_list import BEGINNING
from holdfastd.operations.whole_queue import PAGE as KEYS
from holdfastd.steward.duties import lane_duties, upkeep

if TYPE_CHECKING:
    from holdfast.store import Store

LOOKED = work.task_id(500)
LONG_MS = 86_400_000
Look = Callable[[], Awaitable[object]]


def looks(store: Store, hand: Hand) -> Iterator[tuple[str, Look]]:
    yield "status", lambda: _status(store)
    for name, wanted in _LISTS.items():
        yield f"tasks list{name}", lambda wanted=wanted: store.tasks(wanted, PAGE)
    yield "tasks list --cursor", lambda: _second_page(store)
    yield "tasks list, outlines", lambda: store.outlines([work.task_id(number) for number in range(PAGE)], BEGINNING)
    yield "tasks show", lambda: store.get(LOOKED)
    yield "why", lambda: store.place(LOOKED)
    yield "queue peek", lambda: store.peek_entries(QUEUE, 10)
    yield "events", lambda: store.events("", EVENTS)
    yield "dead list", lambda: store.dead_letters(PAGE)
    yield "workers", store.workers
    yield "recover --dry-run, a page", lambda: store.strays("", KEYS, LONG_MS, put_back=False)
    yield "a worker renews", hand.renew
    yield "steward: vouch", lambda: store.vouch([INCARNATION])
    yield "steward: reap", lambda: store.reap(LONG_MS, LONG_MS)
    yield "steward: ring", lambda: store.ring(QUEUE)
    yield "steward: promote, nothing due", lambda: store.promote(upkeep.PROMOTED_AT_ONCE)
    yield "steward: audit, nothing lost", lambda: store.audit(QUEUE, lane_duties.AUDIT_WINDOW, "")
    yield "steward: trim, nothing old", lambda: store.trim(LONG_MS, upkeep.REMOVED_AT_ONCE)
    yield "steward: what is left", lambda: store.left([QUEUE])
    yield "steward: epoch", lambda: store.epoch(Epoch("", 0), "bench")
    yield "steward: latest event", lambda: store.latest("")
    yield "steward: due schedules", lambda: store.due_schedules(PAGE)


_LISTS = {
    "": Wanted(),
    " --state submitted": Wanted(states=(State.SUBMITTED,)),
    " --state completed": Wanted(states=(State.COMPLETED,)),
    " --name, of nobody": Wanted(name="nobody"),
    " --older, than any": Wanted(older_ms=LONG_MS),
    " --newer, than any": Wanted(newer_ms=0),
}


async def _status(store: Store) -> None:
    await store.counts()
    await store.lanes([])


async def _second_page(store: Store) -> None:
    first = await store.tasks(Wanted(), 1)
    await store.tasks(Wanted(), PAGE, first.cursor)
