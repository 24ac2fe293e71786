"""A filter with the name of a lane or handler that nobody knows: it finds nothing, and each face says which name was
meant."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from holdfast.core.published_handlers import PublishedHandler
from holdfast_config import RedisSettings
from holdfastd.operations.act import Doing, Face, Operator
from holdfastd.operations.error_statuses import UnknownNameError
from holdfastd.operations.notes import AskedChange
from tests.cli.commands import Cli
from tests.operations.test_contract import acts
from tests.web.site import site

pytestmark = pytest.mark.anyio

HANDLER = "no handler named 'blling' is known: did you mean billing?"
LANE = "no lane named 'mial' is known: did you mean mail?"
OF_NAMES = {  # a scale asks only the supervisor of this host
    name: act for name, act in acts().items() if act.subject in ("lane", "handler", "host") and name != "SCALE_WORKERS"
}
COMMANDS = [
    (("tasks", "list", "--name", "blling"), HANDLER),
    (("tasks", "list", "--lane", "mial"), LANE),
    (("tasks", "clean", "--name", "blling", "--yes"), HANDLER),
    (("tasks", "clean", "--lane", "mial", "--yes"), LANE),
    (("tasks", "cancel", "--name", "blling", "--yes"), HANDLER),
    (("tasks", "retry", "--lane", "mial", "--yes"), LANE),
    (("dead", "list", "--name", "blling"), HANDLER),
    (("dead", "remove", "--name", "blling"), HANDLER),
    (("dead", "retry", "--name", "blling", "--yes"), HANDLER),
]


@pytest.mark.parametrize(("words", "line"), COMMANDS)
async def test_a_command_whose_filter_names_nothing_that_is_known(
    redis_settings: RedisSettings, cli: Cli, words: tuple[str, ...], line: str
) -> None:
    async with site(redis_settings) as here:
        await here.store.publish_handlers([PublishedHandler("billing")])
        await here.manager.run_task("x", lane="mail")
        run = partial(anyio.to_thread.run_sync, cli)
        answer = await run(*words)
        assert (answer.status, f"supervisor: {line}\n" in answer.err) == (0, True)
        known = [{"blling": "billing", "mial": "mail"}.get(word, word) for word in words]
        assert "is known" not in (await run(*known)).err


async def test_pages_and_the_api_say_it_too(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.publish_handlers([PublishedHandler("billing")])
        await here.manager.run_task("x", lane="mail")
        for query, line in (("name=blling", HANDLER), ("lane=mial", LANE)):
            assert line in await here.page(f"/tasks?{query}")
            assert line in await here.page(f"/tasks/bulk?verb=cancel&{query}")
            answer = await here.program.get(f"/api/v1/tasks?{query}")
            assert (answer.json()["tasks"], answer.headers["holdfast-warning"]) == ([], line)
            name, _, value = query.partition("=")
            answer = await here.program.post("/api/v1/bulk", json={"verb": "cancel", name: value})
            assert (answer.is_success, answer.headers["holdfast-warning"]) == (True, line)
            assert (await here.change("/bulk/begin", verb="cancel", **{name: value})).status_code == 303
            assert line in await here.page("/bulk")
        for query in ("name=billing", "lane=mail", "state=failed"):
            assert "holdfast-warning" not in (await here.program.get(f"/api/v1/tasks?{query}")).headers
            assert "is known" not in await here.page(f"/tasks?{query}")


@pytest.mark.parametrize("words", [("dead", "list"), ("tasks", "clean", "--yes"), ("dead", "remove", "--yes")])
async def test_an_age_is_a_duration_in_every_filter(
    redis_settings: RedisSettings, cli: Cli, words: tuple[str, ...]
) -> None:
    async with site(redis_settings):
        run = partial(anyio.to_thread.run_sync, cli)
        for age in ("90", "90s", "1h30m", "7d"):
            assert (await run(*words, "--older", age)).status == 0
        refused = await run(*words, "--older", "soon")
        text = "older 'soon': a duration is expected: seconds, or 90s, 5m, 1h30m, 7d"
        assert (refused.status, text in refused.err) == (2, True)


@pytest.mark.parametrize("name", sorted(OF_NAMES))
async def test_a_new_name_is_offered_only_where_the_act_takes_one(redis_settings: RedisSettings, name: str) -> None:
    act = OF_NAMES[name]
    takes_new = "create" in {field.name for field in act.fields}
    async with site(redis_settings) as here:
        for face in Face:
            asked = AskedChange("ann", "here", here.store.note_activity, act.name)
            doing = Doing(here.store, here.manager, here.settings, Operator("ann", "here", face), asked)
            given = {act.subject: "mial"} | ({"rate": "5/s"} if name.startswith("LIMIT") else {})
            with pytest.raises(UnknownNameError, match="there is no such") as refused:
                await act.carry_out(doing, act.read_texts(given))
            switch = face.switch("create") if takes_new else ""
            assert f" (for a new {act.subject} {switch})" in str(refused.value) or not switch
            assert ("for a new" in str(refused.value)) == bool(switch)


async def test_a_command_offers_no_option_that_it_does_not_have(redis_settings: RedisSettings, cli: Cli) -> None:
    async with site(redis_settings):
        run = partial(anyio.to_thread.run_sync, cli)
        for words in (("lanes", "resume", "mial"), ("resume", "--host", "bd1"), ("lanes", "set", "mial", "--reset")):
            refused = await run(*words)
            assert (refused.status, "there is no such" in refused.err, "--create" in refused.err) == (1, True, False)
