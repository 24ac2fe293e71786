"""Delivers a notice to all that are told of its task: the webhook, and clients of the agent in their own words."""

from __future__ import annotations

from dataclasses import replace

import anyio
import msgspec

from holdfast.core.task_states import State
from holdfast.core.webhook_notice import Notice, body
from holdfast.store.protocol import Store
from holdfastd.a2a import wire_0_3, wire_1_0
from holdfastd.a2a.agent_task import AgentTask
from holdfastd.a2a.push_target import PushTarget, read_targets
from holdfastd.a2a.task_view import task_view
from holdfastd.steward.webhook_post import MissedError, Poster, RefusedError


async def deliver(store: Store, poster: Poster, notice: Notice) -> None:
    """All are tried at once; then MissedError is raised if one has missed it, so that all are tried again, or
    RefusedError."""
    record = await store.get(notice.task_id)
    targets = read_targets(await store.push(notice.task_id)) if record else []
    failed: list[MissedError | RefusedError] = []
    is_progress = notice.state == State.WORKING
    if is_progress and (not record or record.state is not State.WORKING):
        return  # a later notice says what came of it
    posts: list[tuple[Notice, bytes, dict[str, str]]] = []
    if not is_progress and notice.url not in {target.url for target in targets}:
        posts.append((notice, body(notice, record), {}))
    if record and targets:
        task = task_view(record, await store.about(notice.task_id))
        posts += [(replace(notice, url=each.url), _content(each, task), each.headers) for each in targets]
    async with anyio.create_task_group() as group:
        for post in posts:
            group.start_soon(_try, failed, poster, *post)
    for error in sorted(failed, key=lambda error: isinstance(error, RefusedError)):
        raise error


async def _try(
    failed: list[MissedError | RefusedError], poster: Poster, notice: Notice, content: bytes, headers: dict[str, str]
) -> None:
    try:
        await poster.post(notice, content, headers)
    except (MissedError, RefusedError) as error:
        failed.append(error)
    except ValueError as error:  # its URL is none
        failed.append(RefusedError(str(error)))


def _content(target: PushTarget, task: AgentTask) -> bytes:
    """As an item of a stream: the task as it is."""
    return msgspec.json.encode((wire_1_0 if target.version == "1.0" else wire_0_3).told(task))
