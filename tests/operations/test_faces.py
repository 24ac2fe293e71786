"""Each act through each of its faces: the same answers, the same refusals, one note in Activity of the same name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from holdfast.client.task_spec import TaskSpec
from holdfast.core.quiet_hosts import ALL_HOSTS
from holdfast_config import RedisSettings
from holdfastd.operations.act import Act
from holdfastd.operations.hosts import END_HALT, HALT_HOSTS, QUIET_HOSTS, RESUME_HOSTS
from holdfastd.operations.lanes import LIMIT_HANDLER, LIMIT_LANE, PAUSE_LANE, RESET_HANDLER, RESET_LANE, RESUME_LANE
from holdfastd.operations.schedules import PAUSE_SCHEDULE, REMOVE_SCHEDULE, RESUME_SCHEDULE, RUN_SCHEDULE, SET_SCHEDULE
from tests.cli.commands import Cli
from tests.operations.faces import FACES, Case
from tests.web.site import site

pytestmark = pytest.mark.anyio

LANE = "mail"
MADE = {"subject": LANE, "answer": "paused"}
PAUSE = Case(
    PAUSE_LANE,
    LANE,
    ("lanes", "pause", LANE),
    ("POST", "/lanes/{}/pause"),
    {"reason": "the bank is closed", "create": True},
    answers=MADE,
)
LIMIT = ("lanes", "set", LANE)
LIMITS = ("PUT", "/lanes/{}/limits")
QUIET = Case(
    QUIET_HOSTS,
    "db1",
    ("quiet",),
    ("POST", "/hosts/quiet"),
    {"host": "db1", "reason": "the database moves", "create": True},
    answers={"host": "db1", "word": "quiet", "changed": True, "workers": 0},
)
SET = Case(
    SET_SCHEDULE,
    "nightly",
    ("schedules", "set", "nightly"),
    ("PUT", "/schedules/{}"),
    {"at": "2099-01-31T12:00:00", "name": "close"},
)
SCHEDULE_ACTS: tuple[tuple[Act[Any, Any], str, str, str, dict[str, object], str], ...] = (
    (PAUSE_SCHEDULE, "pause", "POST", "/schedules/{}/pause", {"reason": "year end", "until": "2098-01-01"}, "paused"),
    (RESUME_SCHEDULE, "resume", "POST", "/schedules/{}/resume", {}, "resumed"),
    (REMOVE_SCHEDULE, "remove", "DELETE", "/schedules/{}", {}, "removed"),
)
LIMITED_HANDLER = Case(
    LIMIT_HANDLER,
    "billing",
    ("lanes", "set", "--handler", "billing"),
    ("PUT", "/handlers/{}/limits"),
    {"rate": "5/s"},
    refusal="handler 'billing': there is no such handler",
)
CASES = [
    PAUSE,
    Case(PAUSE_LANE, "mial", ("lanes", "pause", "mial"), PAUSE.route, before=(PAUSE,), refusal="did you mean mail"),
    Case(RESUME_LANE, "mial", ("lanes", "resume", "mial"), ("POST", "/lanes/{}/resume"), refusal="there is no such"),
    Case(
        RESUME_LANE,
        LANE,
        ("lanes", "resume", LANE),
        ("POST", "/lanes/{}/resume"),
        before=(PAUSE,),
        answers={"subject": LANE, "answer": "resumed"},
    ),
    Case(
        LIMIT_LANE,
        LANE,
        LIMIT,
        LIMITS,
        {"running": 3, "per_key": None, "rate": "100/m", "create": True},
        answers={"subject": LANE, "answer": "bounded"},
    ),
    Case(
        LIMIT_LANE,
        "mial",
        ("lanes", "set", "mial"),
        LIMITS,
        {"running": 3},
        before=(PAUSE,),
        refusal="did you mean mail?",
    ),
    Case(
        RESET_LANE,
        "mial",
        ("lanes", "set", "mial", "--reset"),
        ("DELETE", "/lanes/{}/limits"),
        before=(PAUSE,),
        refusal="did you mean mail?",
        left_out=("form",),
    ),
    Case(LIMIT_LANE, LANE, LIMIT, LIMITS, {"running": 0, "create": True}, refusal="use a whole number from 1 to"),
    Case(
        LIMIT_LANE, LANE, LIMIT, LIMITS, {"rate": "fast", "create": True}, refusal="a rate must be a number and a time"
    ),
    Case(LIMIT_LANE, LANE, LIMIT, LIMITS, {"burst": 5, "create": True}, refusal="burst: 5 needs a rate"),
    LIMITED_HANDLER,
    QUIET,
    Case(
        QUIET_HOSTS,
        ALL_HOSTS,
        ("quiet",),
        QUIET.route,
        {"reason": "the database moves"},
        answers={"host": None, "word": "quiet", "changed": True, "workers": 0},
    ),
    Case(
        QUIET_HOSTS,
        "bd1",
        ("quiet",),
        QUIET.route,
        {"host": "bd1"},
        before=(QUIET,),
        refusal="host 'bd1': there is no such host; did you mean db1?",
    ),
    Case(QUIET_HOSTS, "a b", ("quiet",), QUIET.route, {"host": "a b"}, refusal="host: 'a b' is not the name of a host"),
    Case(QUIET_HOSTS, "*", ("quiet",), QUIET.route, {"host": "*"}, refusal="leave it out for all hosts"),
    Case(QUIET_HOSTS, "none", ("quiet",), QUIET.route, {"host": "none"}, refusal="host 'none': there is no such host"),
    Case(
        RESUME_HOSTS,
        "db1",
        ("resume",),
        ("POST", "/hosts/resume"),
        {"host": "db1"},
        before=(QUIET,),
        answers={"host": "db1", "word": "resumed", "changed": True, "workers": 0, "quiet": []},
    ),
    Case(RESUME_HOSTS, "db1", ("resume",), ("POST", "/hosts/resume"), {"host": "db1"}, refusal="there is no such"),
    Case(
        HALT_HOSTS,
        "db1",
        ("control", "HALT"),
        None,
        {"host": "db1", "create": True},
        answers={"host": "db1", "word": "halt", "changed": True, "workers": 0},
    ),
    Case(HALT_HOSTS, "db1", ("control", "HALT"), None, {"host": "db1"}, refusal="there is no such host"),
    Case(
        END_HALT,
        ALL_HOSTS,
        ("control", "RESUME"),
        None,
        answers={"host": None, "word": "halt ended", "changed": False, "workers": 0, "quiet": []},
    ),
    *(
        Case(act, "nightly", ("schedules", word, "nightly"), (method, path), given, before=before, **came)
        for act, word, method, path, given, answer in SCHEDULE_ACTS
        for before, came in (
            ((SET,), {"answers": {"schedule": "nightly", "word": answer}}),
            ((), {"refusal": "no schedule nightly"}),
        )
    ),
    Case(
        PAUSE_SCHEDULE,
        "nightly",
        ("schedules", "pause", "nightly"),
        ("POST", "/schedules/{}/pause"),
        {"until": "soon"},
        before=(SET,),
        refusal="soon",
    ),
]


@pytest.mark.parametrize(
    ("case", "face"), [pytest.param(case, face, id=f"{case}-{face}") for case in CASES for face in case.faces]
)
async def test_an_act_is_the_same_through_each_face(
    redis_settings: RedisSettings, cli: Cli, case: Case, face: str
) -> None:
    async with site(redis_settings) as here:
        for earlier in case.before:
            await FACES["route"](cli, here, earlier)
        said = await FACES[face](cli, here, case)
        assert case.refusal in said.refusal if case.refusal else said.refusal == ""
        if face != "form" and not case.refusal:
            assert said.answer == case.answers
        assert (said.note.change, said.note.subject) == (case.act.name, case.subject)
        assert said.note.is_refused == bool(case.refusal)
        assert case.refusal in said.note.outcome


async def test_a_limit_that_is_reset_is_that_of_the_settings_again(redis_settings: RedisSettings, cli: Cli) -> None:
    limit = Case(LIMIT_LANE, LANE, LIMIT, LIMITS, {"running": 3, "create": True})
    for again in (
        Case(RESET_LANE, LANE, (*LIMIT, "--reset"), ("DELETE", "/lanes/{}/limits")),
        Case(LIMIT_LANE, LANE, LIMIT, LIMITS, {"reset": ["running"]}),
    ):
        for face in ("command", "route") if again.act is RESET_LANE else ("route",):
            async with site(redis_settings) as here:
                await FACES["route"](cli, here, limit)
                said = await FACES[face](cli, here, again)
                assert said.answer == {"subject": LANE, "answer": "bounded"}
                assert not any(each.limit.asked for each in (await here.manager.lanes()).lanes)


@pytest.mark.parametrize("face", FACES)
async def test_a_limit_of_a_handler_is_reset_through_each_face(
    redis_settings: RedisSettings, cli: Cli, face: str
) -> None:
    limit = replace(LIMITED_HANDLER, given={"rate": "5/s", "create": True})
    again = Case(RESET_HANDLER, "billing", (*limit.words, "--reset"), ("DELETE", "/handlers/{}/limits"))
    if face == "form":  # an empty field
        again = replace(limit, given={"rate": ""})
    async with site(redis_settings) as here:
        await FACES["route"](cli, here, limit)
        said = await FACES[face](cli, here, again)
        assert said.refusal == ""
        assert (said.note.change, said.note.subject, said.note.is_refused) == (again.act.name, "billing", False)
        assert not any(order.asked for order in (await here.manager.lanes()).handlers.values())
        missing = await here.program.put("/api/v1/handlers/billing/limits", json={})
        assert (missing.status_code, missing.json()["field"]) == (400, "rate")


FORM = {"way": "at", "rule": "2099-01-31T12:00:00", "name": "close"}


async def test_a_schedule_is_set_through_each_face(redis_settings: RedisSettings, cli: Cli) -> None:
    for face in FACES:
        case = replace(SET, subject=face, words=("schedules", "set", face), given=FORM if face == "form" else SET.given)
        async with site(redis_settings) as here:
            for outcome in ("new", "same"):
                if (face, outcome) == ("form", "same"):
                    case = replace(case, given={**FORM, "known": "1"})
                said = await FACES[face](cli, here, case)
                assert said.refusal == ""
                if face != "form":
                    assert said.answer == {"schedule": face, "word": outcome, "next": "2099-01-31T12:00:00Z"}
                assert (said.note.change, said.note.subject, said.note.is_refused) == ("schedules/set", face, False)
            again = await FACES["form"](cli, here, replace(case, given=FORM))
            assert f"schedule {face} exists already" in again.refusal
            assert (again.note.change, again.note.is_refused) == ("schedules/set", True)


async def test_a_schedule_is_run_through_each_face(redis_settings: RedisSettings, cli: Cli) -> None:
    for face in FACES:
        async with site(redis_settings) as here:
            await FACES["route"](cli, here, replace(SET, subject=face))
            run = Case(RUN_SCHEDULE, face, ("schedules", "run", face), ("POST", "/schedules/{}/run"))
            said = await FACES[face](cli, here, run)
            assert (said.refusal, said.note.change, said.note.subject) == ("", "schedules/run", face)


async def test_a_lane_that_is_not_there_is_shown_nowhere(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("x", lane=LANE)
        why = "no lane mial; did you mean mail?"
        for words in (("lanes", "show", "mial"), ("queue", "peek", "--lane", "mial")):
            refused = await anyio.to_thread.run_sync(cli, *words)
            assert (refused.status, refused.err) == (1, f"supervisor: {why}\n")
        for path in ("/lanes/mial", "/queue/peek?lane=mial"):
            answer = await here.program.get(f"/api/v1{path}")
            assert (answer.status_code, answer.json()["detail"]) == (404, why)
        assert why in await here.page("/lane?name=mial", 404)
        entries = await here.program.get("/api/v1/queue/peek?lane=mail")
        assert len(entries.json()["entries"]) == 1


async def test_a_batch_or_a_handler_that_is_not_there_is_shown_nowhere(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_tasks([TaskSpec(text="x", name="billing")], batch="import-1")
        why = "no batch impart-1; a batch that ended long ago is forgotten; did you mean import-1?"
        refused = await anyio.to_thread.run_sync(cli, "batches", "show", "impart-1")
        assert (refused.status, refused.err) == (1, f"supervisor: {why}\n")
        for path in ("/batches/impart-1", "/batches/impart-1/tasks"):
            answer = await here.program.get(f"/api/v1{path}")
            assert (answer.status_code, answer.json()["detail"]) == (404, why)
        assert why in await here.page("/batch?id=impart-1", 404)
        await here.page("/handler?name=billing")  # nobody publishes it, but it has a task
        await FACES["route"](cli, here, replace(LIMITED_HANDLER, given={"rate": "5/s", "create": True}))
        assert "no handler blling; did you mean billing?" in await here.page("/handler?name=blling", 404)
