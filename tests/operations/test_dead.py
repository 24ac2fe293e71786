"""The acts on dead letters, through each of their faces."""

from __future__ import annotations

import pytest

from holdfast_config import RedisSettings
from holdfastd.operations.dead import REMOVE_ALL_DEAD, REMOVE_DEAD
from tests.cli.commands import Cli
from tests.operations.faces import FACES, Case
from tests.web.site import site
from tests.web.test_set_aside_pages import give_up

pytestmark = pytest.mark.anyio

ROUTE = ("DELETE", "/dead/{}")
COMMAND = ("dead", "remove", "--yes")


@pytest.mark.parametrize("face", FACES)
async def test_a_dead_letter_is_removed_in_the_same_way_through_each_face(
    redis_settings: RedisSettings, cli: Cli, face: str
) -> None:
    async with site(redis_settings) as here:
        for task_id in ("a", "waits"):
            await here.manager.run_task("x", task_id=task_id)
            if task_id == "a":
                await give_up(here, redis_settings.queue)
        made = await FACES[face](cli, here, Case(REMOVE_DEAD, "a", (*COMMAND, "a"), ROUTE))
        answers = {"command": {"purged": 1}, "form": None, "route": {"task_id": "a", "removed": True}}
        assert (made.answer, made.refusal) == (answers[face], "")
        assert (made.note.change, made.note.subject, made.note.is_refused) == ("dead/remove", "a", False)
        for subject in ("a", "waits", "nobody"):
            refused = await FACES[face](cli, here, Case(REMOVE_DEAD, subject, (*COMMAND, subject), ROUTE))
            assert f"no dead letter {subject}" in refused.refusal
            assert (refused.note.subject, refused.note.is_refused) == (subject, True)
            assert f"no dead letter {subject}" in refused.note.outcome
        assert len(await here.store.activity_before("", 10)) == 4


async def test_all_that_are_removed_are_one_change(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        for task_id in ("a", "b"):
            await here.manager.run_task("x", task_id=task_id)
        await give_up(here, redis_settings.queue)
        for options, purged in ((("--name", "nobody"), 0), (("--older", "1h"), 0), (("--all",), 2)):
            said = await FACES["command"](cli, here, Case(REMOVE_ALL_DEAD, "", (*COMMAND, *options), ("", "")))
            assert (said.answer, said.note.change) == ({"purged": purged}, "dead/remove-all")
        assert len(await here.store.activity_before("", 10)) == 3


async def test_a_retry_of_a_kind_touches_no_other(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings) as here:
        for task_id in ("a1", "a2", "b1"):
            await here.manager.run_task("x", task_id=task_id)
            await give_up(here, redis_settings.queue, "why", f"{task_id[0].upper()}Error\n\n#", f"w-{task_id}")
        kind = (await here.manager.get_task("a1")).error_kind
        answer = cli("dead", "retry", "--error", kind, "--json", "--yes")
        assert {line["task_id"] for line in answer.lines} == {"a1", "a2"}
        assert [task.task_id for task in (await here.store.dead_letters(10)).tasks] == ["b1"]
        other = (await here.manager.get_task("b1")).error_kind
        assert cli("dead", "remove", "--error", kind, "--yes", "--json").document == {"purged": 0}
        assert cli("dead", "remove", "--error", other, "--yes", "--json").document == {"purged": 1}
