"""Makes a batch of tasks that were checked: their ids, their places, and a digest that knows the same call again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace as replaced

from msgspec.structs import replace

from holdfast.client.arguments import check_batch_id
from holdfast.client.submission import Draft
from holdfast.core.batches import MOST_TASKS
from holdfast.core.identity import is_task_id, keyed_id
from holdfast.core.plain_json import shown
from holdfast.core.submit_options import BatchPlace, SubmitOptions
from holdfast.errors import InvalidTaskError

DIGEST = 16  # hex digits: enough to tell two calls apart that nobody means to confuse


def drafts_of_batch(queue: str, batch_id: str, tasks: Sequence[Draft], then: Draft | None) -> list[Draft]:
    """The drafts to submit, the callback first. Raises InvalidTaskError."""
    check_batch_id(batch_id)
    if not tasks and then is None:
        raise InvalidTaskError(f"batch {batch_id}: it has no tasks and no callback, so there is nothing to submit")
    if len(tasks) > MOST_TASKS:
        raise InvalidTaskError(f"batch {batch_id}: {len(tasks)} tasks: at most {MOST_TASKS} are allowed")
    named = [_named(one, f"{batch_id}.{place}") for place, one in enumerate(tasks, 1)]
    callback = [] if then is None else [_named(then, f"{batch_id}.then")]
    digest = _digest(queue, batch_id, named, callback)
    places = range(0 if callback else 1, len(named) + 1)
    return [
        _placed(one, BatchPlace(batch_id, place, len(named), digest))
        for place, one in zip(places, [*callback, *named], strict=True)
    ]


def _named(one: Draft, task_id: str) -> Draft:
    """With the id that it has in its batch, unless it has one."""
    if one.spec.unique is not None:
        text = "a task of a batch cannot be left out as a duplicate of another; use key or task_id"
        raise InvalidTaskError(f"unique {shown(one.spec.unique)}: {text}")
    if one.spec.task_id is not None or one.spec.key is not None:
        return one
    assert is_task_id(task_id)  # the id of the batch is so short
    return one._replace(spec=replace(one.spec, task_id=task_id))


def _digest(queue: str, batch_id: str, tasks: Sequence[Draft], callback: Sequence[Draft]) -> str:
    """Of the ids and contents of all."""
    digest, ids = hashlib.sha1(b"%d" % len(callback), usedforsecurity=False), set[str]()
    for one in (*callback, *tasks):
        task_id = one.spec.task_id or keyed_id(queue, one.spec.key or "")
        if task_id in ids:
            raise InvalidTaskError(f"batch {batch_id}: task_id {task_id} stands there twice; each task needs its own")
        ids.add(task_id)
        digest.update(b"%b\n%d\n" % (task_id.encode(), len(one.message)))
        digest.update(one.message)
    return digest.hexdigest()[:DIGEST]


def _placed(one: Draft, place: BatchPlace) -> Draft:
    return one._replace(options=replaced(one.options or SubmitOptions(), batch=place))
