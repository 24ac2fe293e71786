"""The type of task ids, which a shell can complete from the store; `whole_ids` finds those that are cut off."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio
import click
from click.shell_completion import CompletionItem

from holdfastd.cli.common.session import Session

COMPLETION_TIMEOUT = 1.0  # seconds for the store to answer, which usually takes milliseconds
OFFERED = 100  # tasks, those that run or wait first


class _TaskId(click.ParamType[str]):
    name = "task_id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The matching ids; none if the store does not answer in time, since a key press must not print errors."""
        try:
            task_ids = _known(ctx.ensure_object(Session))
        except Exception:
            return []
        return [CompletionItem(task_id) for task_id in task_ids if task_id.startswith(incomplete)]


def _known(session: Session) -> list[str]:
    from holdfast.core.tasks import Wanted  # slow to import
    from holdfast.store.redis import RedisStore

    async def look() -> list[str]:
        with anyio.move_on_after(COMPLETION_TIMEOUT):
            async with aclosing(RedisStore(session.resolved.settings.redis)) as store:
                return [task.task_id for task in (await store.tasks(Wanted(), OFFERED)).tasks]
        return []

    return anyio.run(look)


TASK_ID = _TaskId()
