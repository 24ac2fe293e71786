"""Completing task ids in a shell: those of the store that is at hand, in the blink of an eye or not at all."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio
import click
from click.shell_completion import CompletionItem

from holdfastd.cli.common.session import Session

WITHIN = 1.0  # seconds for the answer of the store, which takes milliseconds where all is well
LOOKED_AT = 100  # tasks, those that run or wait first


class _TaskId(click.ParamType[str]):
    name = "task_id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Nothing where there is no store, or no answer in time: a key press is no place for errors."""
        try:
            found = _known(ctx.ensure_object(Session))
        except Exception:
            return []
        return [CompletionItem(task_id) for task_id in found if task_id.startswith(incomplete)]


def _known(session: Session) -> list[str]:
    from holdfast.core.tasks import Wanted  # both are slow to import, and not on the store's time
    from holdfast.store.redis import RedisStore

    async def look() -> list[str]:
        with anyio.move_on_after(WITHIN):
            async with aclosing(RedisStore(session.resolved.settings.redis)) as store:
                return [task.task_id for task in (await store.tasks(Wanted(), LOOKED_AT)).tasks]
        return []

    return anyio.run(look)


TASK_ID = _TaskId()
