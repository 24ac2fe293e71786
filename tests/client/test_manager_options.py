"""Tasks after others, with an expiry, under keys: what producers say, and what they are told."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.submission import refusal, submission
from holdfast.client.task_spec import TaskOptions, TaskSpec
from holdfast.core.acceptance import MOST_PARENTS, Accepted, IfParentFails, Receipt, Submission, SubmitOptions
from holdfast.core.identity import keyed_id
from holdfast.core.task_states import State
from holdfast.errors import InvalidTaskError, MessageConflictError, UnknownTaskError
from holdfast.handler.registered_handler import RegisteredHandler
from holdfast.store import open_store
from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio
LIMIT = 1_000_000


@pytest.fixture
async def manager(redis_settings: RedisSettings) -> AsyncIterator[TaskManager]:
    async with open_store(redis_settings) as store:
        yield TaskManager(store, queue=redis_settings.queue)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"after": "t1"}, "after must be a list of task ids, not 't1'"),
        ({"after": 7}, "after must be a list of task ids, not 7"),
        ({"after": ["a b"]}, "task_id 'a b'"),
        ({"after": [7]}, "task_id 7"),
        ({"after": ["me"], "task_id": "me"}, "a task cannot wait for itself"),
        (
            {"after": [f"t{n}" for n in range(MOST_PARENTS + 1)]},
            "after names 101 tasks: a task can wait for at most 100",
        ),
        ({"if_parent_fails": "run"}, "if_parent_fails needs after"),
        ({"after": ["t"], "if_parent_fails": "cry"}, "if_parent_fails 'cry': fail or run"),
        ({"expires": 0}, "expires 0: seconds above 0"),
        ({"expires": "soon"}, "expires 'soon'"),
        ({"expires": True}, "expires True"),
        ({"expires": 1e12}, "expires 1000000000000.0"),
        ({"expires": datetime(2030, 1, 1)}, "has no time zone"),  # noqa: DTZ001 - that is the point
        ({"expires": datetime(1900, 1, 1, tzinfo=UTC)}, "a date from 1971 on"),
        ({"expires": 5, "delay": 5}, "the task would expire before its delay of 5 s is over"),
        ({"key": ""}, "key '': 1 to 1000 characters"),
        ({"key": 5}, "key 5: text expected"),
        ({"key": "\ud800"}, "not Unicode text"),
        ({"key": "k", "task_id": "t"}, "key and task_id exclude each other"),
        ({"debounce": "k"}, "debounce needs delay"),
        ({"debounce": "k", "delay": 0}, "debounce needs delay"),
        ({"debounce": "k", "delay": 1, "unique": "k"}, "debounce and unique exclude each other"),
        ({"debounce": "k", "delay": 1, "key": "k"}, "debounce and key exclude each other"),
        ({"unique": "k" * 1001}, "1 to 1000 characters"),
        ({"unique_for": 5}, "unique_for needs unique"),
        ({"unique": "k", "unique_for": 0}, "unique_for 0: seconds above 0"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidTaskError) as refused:
        submission(TaskSpec(text="x", **given), "q", LIMIT)
    assert told in str(refused.value)


def test_options_are_those_that_were_given() -> None:
    spec = TaskSpec(text="x", after=["a", "b", "a"], if_parent_fails="run", expires=1.5, unique="é", unique_for=2)
    options = submission(spec, "q", LIMIT).options
    assert options is not None
    assert (options.after, options.if_parent_fails) == (("a", "b"), IfParentFails.RUN)
    assert (options.expires_in_ms, options.expires_ms, options.unique_ms, len(options.unique)) == (1500, None, 2000, 40)
    at = TaskSpec(text="x", expires=datetime(2030, 1, 1, tzinfo=UTC))
    assert submission(at, "q", LIMIT).options == SubmitOptions(expires_ms=1_893_456_000_000)


def test_a_parent_that_is_named_twice_counts_once() -> None:
    options = submission(TaskSpec(text="x", after=["p"] * (MOST_PARENTS + 1)), "q", LIMIT).options
    assert options is not None
    assert options.after == ("p",)


def test_most_tasks_have_no_options() -> None:
    assert submission(TaskSpec(text="x", delay=5, key="k", after=[]), "q", LIMIT).options is None


def test_a_key_with_other_arguments_is_told_as_a_key() -> None:
    one = submission(TaskSpec(text="x", key="charge-11"), "q", LIMIT)
    told = str(refusal(one, Receipt(Accepted.CONFLICT, one.task_id)))
    assert told.startswith(f"the key belongs to task {one.task_id}, which was submitted before with other arguments;")
    message = submission(TaskSpec(text="x", task_id="t", message_id="m1"), "q", LIMIT)
    assert "message m1 of task t was sent before" in str(refusal(message, Receipt(Accepted.CONFLICT, "t")))


def test_a_key_makes_the_id_in_every_process() -> None:
    one = submission(TaskSpec(text="x", key="order-17"), "bindu:tasks", LIMIT)
    assert (
        one.task_id == one.message_id == keyed_id("bindu:tasks", "order-17") == "9d622062-036a-5736-b29c-ce0ea7592509"
    )
    assert submission(TaskSpec(text="x", key="order-17"), "other", LIMIT).task_id != one.task_id


async def test_a_family_is_submitted_in_one_batch(manager: TaskManager) -> None:
    ids = await manager.run_tasks(
        [TaskSpec(text="p", task_id="p"), TaskSpec(text="c", after=["p"]), TaskSpec(text="d", after=["p"], key="d")]
    )
    assert [(await manager.get_task(one)).state for one in ids] == [State.SUBMITTED, State.WAITING, State.WAITING]
    assert (await manager.get_task(ids[1])).waits_for == ("p",)
    waiting = (await manager.list_tasks(State.WAITING)).tasks
    assert {one.task_id for one in waiting} == set(ids[1:])
    assert await manager.count_tasks(State.WAITING) == 2


async def test_an_unknown_parent_is_named(manager: TaskManager) -> None:
    with pytest.raises(UnknownTaskError, match="task nobody, after which t is to run, is not known"):
        await manager.run_task("x", task_id="t", after=["nobody"])
    with pytest.raises(UnknownTaskError, match="no task t"):
        await manager.get_task("t")


async def test_the_same_key_is_the_same_task(manager: TaskManager) -> None:
    first = await manager.run_task("x", key="k")
    assert await manager.run_task("x", key="k") == first
    with pytest.raises(MessageConflictError):
        await manager.run_task("y", key="k")


async def test_a_duplicate_is_told_with_the_first_ones_id(manager: TaskManager) -> None:
    first = await manager.run_task("x", unique="k", unique_for=3600)
    assert await manager.run_task("y", unique="k") == first
    [receipt] = await manager.submit([manager.prepare(TaskSpec(text="z", unique="k"))])
    assert receipt == Receipt(Accepted.DUPLICATE, first)


async def test_a_debounced_submission_takes_the_place_of_the_one_before(manager: TaskManager) -> None:
    first = await manager.run_task("x", debounce="k", delay=3600)
    second = await manager.run_task("y", debounce="k", delay=3600, expires=7200)
    replaced, waits = await manager.get_task(first), await manager.get_task(second)
    assert (replaced.state, replaced.reason) == (State.CANCELED, f"replaced by {second}")
    assert (waits.state, waits.expires_ms) == (State.DELAYED, waits.created_ms + 7_200_000)


async def test_metadata_smuggles_no_terms_in(manager: TaskManager) -> None:
    options: dict[str, object] = {"after": ["nobody"], "expires": 0.001, "unique": "k", "debounce": "k", "waits_for": 5}
    for _ in range(2):
        task = await manager.get_task(await manager.run_task("x", metadata=options))
        assert (task.state, task.expires_ms, task.waits_for) == (State.SUBMITTED, None, ())


def test_options_keep_the_name_that_stored_requests_have() -> None:
    given = Submission("t", "m", "d", b"", "q", options=SubmitOptions(unique="k"))
    encoded = msgspec.msgpack.encode(given)
    assert "terms" in msgspec.msgpack.decode(encoded)
    assert msgspec.msgpack.decode(encoded, type=Submission) == given


def test_the_keywords_of_a_submission_are_the_fields_of_a_task() -> None:
    fields = [*inspect.signature(TaskSpec).parameters.values()]
    of_options = [*inspect.signature(TaskOptions).parameters.values()]
    assert [*inspect.signature(TaskManager.run_task).parameters.values()][1:] == fields
    assert [*inspect.signature(RegisteredHandler.options).parameters.values()][1:] == of_options
    assert [one.name for one in fields if one not in of_options] == ["text", "data", "name", "kwargs"]
