"""The acts on tasks, through each of their faces: commands, forms, routes, the agent, `top`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.task_states import State
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.operations.act import Act
from holdfastd.operations.dead import RETRY_ALL_DEAD
from holdfastd.operations.tasks import (
    CANCEL_TASK,
    CLEAN_TASKS,
    PAUSE_TASK,
    REMOVE_TASK,
    RESUME_TASK,
    RETRY_TASK,
    SEND_MESSAGE,
)
from tests.cli.commands import Cli
from tests.operations.faces import FACES, MORE, Case
from tests.web.site import site
from tests.web.test_set_aside_pages import give_up

pytestmark = pytest.mark.anyio

ALL = FACES | MORE
AGENT, TOP, FORM = ("agent",), ("top",), ("form",)
UNKNOWN = "no task nobody"
ODD = "task_id 'a b': "
REASON = {"reason": "the bank is closed"}


def case(act: Act[Any, Any], task_id: str, **more: Any) -> Case:
    """The case of an act on a task, of which each face is called after the act."""
    verb = act.name.removeprefix("tasks/")
    route = {"remove": ("DELETE", "/tasks/{}"), "message": ("POST", "/tasks/{}/messages")}
    words = ("tasks", "resume" if verb == "message" else verb, task_id)
    left_out = ("command",) if verb == "message" else ()
    return Case(act, task_id, words, route.get(verb, ("POST", f"/tasks/{{}}/{verb}")), **{"left_out": left_out, **more})


def state(task_id: str, after: State) -> dict[str, object]:
    return {"task_id": task_id, "state": after}


# `waits` waits for a worker, `paused` is paused, `over` was canceled, `dead` is a dead letter.
CASES = [
    case(CANCEL_TASK, "waits", answers=state("waits", State.CANCELED), more=AGENT + TOP),
    case(CANCEL_TASK, "paused", given=REASON, answers=state("paused", State.CANCELED)),
    case(CANCEL_TASK, "over", answers=state("over", State.CANCELED), more=TOP),  # asked for twice
    case(CANCEL_TASK, "dead", refusal="task dead has already ended: its state is failed", more=TOP),
    case(CANCEL_TASK, "nobody", refusal=UNKNOWN, more=AGENT + TOP),
    case(CANCEL_TASK, "a b", refusal=ODD, more=TOP),
    case(CANCEL_TASK, "waits", given={"reason": "x" * 1001}, refusal="use a text of at most 1000 characters"),
    case(PAUSE_TASK, "waits", given=REASON, answers=state("waits", State.SUSPENDED)),
    case(PAUSE_TASK, "paused", answers=state("paused", State.SUSPENDED)),
    case(PAUSE_TASK, "over", refusal="task over has already ended: its state is canceled"),
    case(PAUSE_TASK, "nobody", refusal=UNKNOWN),
    case(RESUME_TASK, "paused", answers=state("paused", State.SUBMITTED)),
    case(RESUME_TASK, "waits", answers=state("waits", State.SUBMITTED)),
    case(RESUME_TASK, "over", refusal="task over has already ended: its state is canceled"),
    case(RESUME_TASK, "nobody", refusal=UNKNOWN),
    case(RESUME_TASK, "a b", refusal=ODD),
    case(RESUME_TASK, "paused", given={"text": "none"}, answers=state("paused", State.SUBMITTED)),
    case(RESUME_TASK, "paused", given={"data": {"a": 1}}, left_out=FORM, answers=state("paused", State.SUBMITTED)),
    case(RESUME_TASK, "over", given={"text": "late"}, refusal="task over has ended and takes no more messages"),
    case(RESUME_TASK, "paused", given={"text": " "}, refusal="text: the message is empty"),
    case(RESUME_TASK, "paused", given={"message_id": "m"}, refusal="message_id: there is no message"),
    case(SEND_MESSAGE, "paused", given={"text": "none"}, answers=state("paused", State.SUBMITTED), more=AGENT),
    case(
        SEND_MESSAGE,
        "waits",
        given={"data": {"a": 1}, "message_id": "m"},
        form={"text": '{"a": 1}', "json": "1", "message_id": "m"},
        answers=state("waits", State.SUBMITTED),
    ),
    case(SEND_MESSAGE, "paused", given={"message_id": "m"}, refusal="text: there is no message, or it is null"),
    case(
        SEND_MESSAGE,
        "paused",
        given={"data": None},
        form={"text": "null", "json": "1"},
        refusal="text: there is no message, or it is null",
    ),
    case(SEND_MESSAGE, "paused", given={"text": " \n"}, refusal="text: the message is empty"),
    case(SEND_MESSAGE, "over", given={"text": "late"}, refusal="task over has ended and takes no more", more=AGENT),
    case(SEND_MESSAGE, "nobody", given={"text": "x"}, refusal=UNKNOWN, more=AGENT),
    case(RETRY_TASK, "dead", answers={"task_id": "dead", "answer": "new", "runs_as": "dead.r1"}, more=TOP),
    case(RETRY_TASK, "over", given=REASON, answers={"task_id": "over", "answer": "new", "runs_as": "over.r1"}),
    case(RETRY_TASK, "waits", refusal="task waits cannot be retried: it waits to run already", more=TOP),
    case(RETRY_TASK, "nobody", refusal=UNKNOWN, more=TOP),
    case(RETRY_TASK, "a b", refusal=ODD, more=TOP),
    case(REMOVE_TASK, "over", answers={"task_id": "over", "removed": True}),
    case(REMOVE_TASK, "waits", refusal="task waits is submitted and cannot be removed: cancel it first"),
    case(REMOVE_TASK, "nobody", refusal=UNKNOWN),
]


@pytest.mark.parametrize(
    ("case", "face"), [pytest.param(case, face, id=f"{case}-{face}") for case in CASES for face in case.faces]
)
async def test_an_act_on_a_task_is_the_same_through_each_face(
    redis_settings: RedisSettings, cli: Cli, case: Case, face: str
) -> None:
    async with site(redis_settings, web_a2a=True) as here:
        await here.manager.run_task("x", task_id="dead")
        await give_up(here, redis_settings.queue)
        for task_id in ("waits", "paused", "over"):
            await here.manager.run_task("x", task_id=task_id)
        await here.manager.pause_task("paused")
        await here.manager.cancel_task("over")
        said = await ALL[face](cli, here, case)
        assert case.refusal in said.refusal if case.refusal else said.refusal == ""
        if said.answer is not None and not case.refusal:
            assert said.answer == case.answers
        assert (said.note.change, said.note.subject) == (case.act.name, case.subject)
        assert said.note.is_refused == bool(case.refusal)
        assert case.refusal in said.note.outcome
        assert len(await here.store.activity_before("", 10)) == 1
        if case.given == REASON:
            after = await here.manager.get_task(case.subject)
            reason = after.trail[-1] if case.act is RETRY_TASK else after.reason
            assert re.search(r"the bank is closed \(\w+ by \S+( (on the web|over the API), from \S+)?\)", reason)
        if case.given.get("text") == "none" and not case.refusal:
            operation = (await here.manager.get_task("paused")).operation
            assert operation
            assert b'"none"' in operation


@pytest.mark.parametrize("face", ["form", "route", "agent"])
async def test_the_act_says_who_may_and_each_face_asks_it(redis_settings: RedisSettings, cli: Cli, face: str) -> None:
    usual = CANCEL_TASK.roles
    async with site(redis_settings, Role.VIEWER, web_a2a=True) as here:
        await here.manager.run_task("x", task_id="waits")
        assert "a viewer may change nothing" in (await ALL[face](cli, here, case(CANCEL_TASK, "waits"))).refusal
        object.__setattr__(CANCEL_TASK, "roles", frozenset(Role))
        try:
            assert (await ALL[face](cli, here, case(CANCEL_TASK, "waits"))).refusal == ""
        finally:
            object.__setattr__(CANCEL_TASK, "roles", usual)
        assert (await here.manager.get_task("waits")).state == State.CANCELED


async def test_a_command_on_many_tasks_notes_each_and_a_refusal_stops_none(
    redis_settings: RedisSettings, cli: Cli
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("x", task_id="one")
        await here.manager.run_task("x", task_id="two")
        both = case(CANCEL_TASK, "one", refusal=UNKNOWN)
        answer = cli(*replace(both, words=("tasks", "cancel", "one", "nobody", "two")).words, "--json")
        assert (answer.status, [line["state"] for line in answer.lines]) == (1, ["canceled", "unknown", "canceled"])
        notes = await here.store.activity_before("", 10)
        assert [(each.subject, each.is_refused) for each in notes] == [("two", False), ("nobody", True), ("one", False)]
        assert len({(each.who, each.origin) for each in notes}) == 1


async def test_all_dead_letters_that_run_again_are_one_change(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        for task_id in ("a", "b", "c"):
            await here.manager.run_task("x", task_id=task_id)
        await give_up(here, redis_settings.queue)
        assert cli("dead", "retry", "c").out == "c runs again as c.r1\n"
        (note,) = await here.store.activity_before("", 10)
        assert (note.change, note.subject) == (RETRY_TASK.name, "c")
        for options, runs in (("--name", "none"), 0), (("--all",), 2):
            answer = cli("dead", "retry", *options, "--json", "--yes")
            assert (answer.status, len(answer.lines)) == (0, runs)
            (note, *_) = await here.store.activity_before("", 1)
            assert (note.change, note.outcome) == (RETRY_ALL_DEAD.name, f"{runs} of {runs} run again")
        assert len(await here.store.activity_before("", 10)) == 3


async def test_all_that_are_cleaned_away_are_one_change(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        for task_id in ("a", "b", "waits"):
            await here.manager.run_task("x", task_id=task_id)
        for task_id in ("a", "b"):
            await here.manager.cancel_task(task_id)
        for options, removed in ((("--name", "none"), 0), (("--older", "1h"), 0), (("--limit", "1"), 1), ((), 1)):
            assert cli("tasks", "clean", "--yes", "--json", *options).document == {"removed": removed}
            (note, *_) = await here.store.activity_before("", 1)
            assert (note.change, note.outcome, note.is_refused) == (CLEAN_TASKS.name, f"{removed} removed", False)
        assert len(await here.store.activity_before("", 10)) == 4
        assert await here.manager.count_tasks() == 1
