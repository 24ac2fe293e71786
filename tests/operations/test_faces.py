"""Each act through each of its faces: the same answers, the same refusals, one note in Activity of the same name."""

from __future__ import annotations

import pytest

from holdfast_config import RedisSettings
from holdfastd.operations.lanes import LIMIT_HANDLER, LIMIT_LANE, PAUSE_LANE, RESET_LANE, RESUME_LANE
from tests.cli.commands import Cli
from tests.dashboard.site import site
from tests.operations.faces import FACES, Case

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
CASES = [
    PAUSE,
    Case(PAUSE_LANE, "mial", ("lanes", "pause", "mial"), PAUSE.route, before=(PAUSE,), refusal="did you mean mail"),
    Case(RESUME_LANE, "mial", ("lanes", "resume", "mial"), ("POST", "/lanes/{}/resume"), refusal="nobody knows"),
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
    Case(LIMIT_LANE, LANE, LIMIT, LIMITS, {"running": 0, "create": True}, refusal="use a whole number from 1 to"),
    Case(
        LIMIT_LANE, LANE, LIMIT, LIMITS, {"rate": "fast", "create": True}, refusal="a rate must be a number and a time"
    ),
    Case(LIMIT_LANE, LANE, LIMIT, LIMITS, {"burst": 5, "create": True}, refusal="burst: 5 needs a rate"),
    Case(
        LIMIT_HANDLER,
        "billing",
        ("lanes", "set", "--handler", "billing"),
        ("PUT", "/handlers/{}/limits"),
        {"rate": "5/s"},
        refusal="handler 'billing': nobody knows this handler",
    ),
]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("case", CASES, ids=str)
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
