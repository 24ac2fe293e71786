"""The type of task ids, which a shell can complete from the store; `whole_ids` finds those that are cut off."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
import click
from click.shell_completion import CompletionItem

from holdfastd.cli.common.session import Session

if TYPE_CHECKING:
    from holdfast.store.redis import RedisStore

COMPLETION_TIMEOUT = 1.0  # seconds for the store to answer, which usually takes milliseconds
OFFERED = 100  # ids, or some more
PAGE = 1_000  # keys that the store looks at in one step: below a millisecond


class _TaskId(click.ParamType[str]):
    name = "task_id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The matching ids; none if the store does not answer in time, since a key press must not print errors."""
        try:
            return [CompletionItem(task_id) for task_id in _known(ctx.ensure_object(Session), incomplete)]
        except Exception:
            return []


def _known(session: Session, beginning: str) -> Collection[str]:
    """Ids that begin so; those found until then if the store takes longer."""
    from holdfast.store.redis import RedisStore  # slow to import

    found: dict[str, None] = {}

    async def look() -> None:
        with anyio.move_on_after(COMPLETION_TIMEOUT):
            async with aclosing(RedisStore(session.resolved.settings.redis)) as store:
                async for task_id in ids_beginning(store, beginning):
                    found[task_id] = None

    anyio.run(look)
    return found


async def ids_beginning(store: RedisStore, beginning: str) -> AsyncGenerator[str]:
    """Without a beginning the tasks that run or wait first; else ids among all keys of the queue."""
    from holdfast.core.tasks import Wanted  # slow to import

    if not beginning:
        for task in (await store.tasks(Wanted(), OFFERED)).tasks:
            yield task.task_id
        return
    cursor, offered = "", 0
    while offered < OFFERED:
        page = await store.task_ids(beginning, cursor, PAGE)
        for task_id in page.ids:
            yield task_id
        offered, cursor = offered + len(page.ids), page.cursor
        if not cursor:
            return


TASK_ID = _TaskId()
