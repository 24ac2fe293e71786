"""Delivers a notice to all that are told of its task: the webhook, and clients of the agent in their own words."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import anyio
import msgspec

from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.webhook_notice import Notice, body, receiver_of
from holdfast.store.protocol import Store
from holdfastd.a2a import wire_0_3, wire_1_0
from holdfastd.a2a.agent_task import AgentTask
from holdfastd.a2a.push_target import PushTarget, read_targets
from holdfastd.a2a.task_view import task_view
from holdfastd.steward.receivers import Place, Receivers
from holdfastd.steward.webhook_post import MissedError, Poster, RefusedError

_Post = tuple[Notice, bytes, dict[str, str]]


class BusyError(Exception):
    """A receiver has no place for this notice now; nothing was posted."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The delivery of one notice, which has this place."""

    store: Store
    poster: Poster
    receivers: Receivers
    place: Place
    failed: list[MissedError | RefusedError] = field(default_factory=list[MissedError | RefusedError])
    answers: list[tuple[str, float | None]] = field(default_factory=list[tuple[str, float | None]])

    async def deliver(self, notice: Notice) -> None:
        """All are tried at once; then MissedError is raised if one has missed it, so that all are tried again, or
        RefusedError. BusyError, and none is tried, if one of them has no place."""
        record = await self.store.get(notice.task_id)
        if notice.state == State.WORKING and (not record or record.state is not State.WORKING):
            return  # a later notice says what came of it
        posts = await self._posts(notice, record)
        others = [each for each, _, _ in posts if each.receiver != notice.receiver]
        if not self.receivers.add(self.place, (each.receiver for each in others)):
            raise BusyError
        async with anyio.create_task_group() as group:
            for post in posts:
                group.start_soon(self._try, *post)
        for receiver, seconds in self.answers:
            await self.receivers.note(receiver, seconds)
        for error in sorted(self.failed, key=lambda error: isinstance(error, RefusedError)):
            raise error

    async def _posts(self, notice: Notice, record: TaskRecord | None) -> list[_Post]:
        targets = read_targets(await self.store.push(notice.task_id)) if record else []
        posts: list[_Post] = []
        if notice.state != State.WORKING and notice.url not in {target.url for target in targets}:
            posts.append((notice, body(notice, record), {}))
        if record and targets:
            task = task_view(record, await self.store.about(notice.task_id))
            posts += [
                (replace(notice, url=each.url, receiver=receiver_of(each.url)), _content(each, task), each.headers)
                for each in targets
            ]
        return posts

    async def _try(self, notice: Notice, content: bytes, headers: dict[str, str]) -> None:
        began = time.monotonic()
        try:
            with self.receivers.post(self.place, notice.receiver):
                await self.poster.post(notice, content, headers)
        except MissedError as error:
            self.failed.append(error)
            self.answers.append((notice.receiver, None))
        except RefusedError as error:
            self.failed.append(error)
        except ValueError as error:  # its URL is none
            self.failed.append(RefusedError(str(error)))
        else:
            self.answers.append((notice.receiver, time.monotonic() - began))


def _content(target: PushTarget, task: AgentTask) -> bytes:
    """As an item of a stream: the task as it is."""
    return msgspec.json.encode((wire_1_0 if target.version == "1.0" else wire_0_3).told(task))
