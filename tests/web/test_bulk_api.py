"""Changes of many tasks over the API: with the count, the steps and the record that pages have."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from holdfast.client.bulk_steps import asked_change
from holdfast.client.task_filter import TaskFilter
from holdfast.client.task_spec import TaskSpec
from holdfast.core.bulk_changes import BulkState, BulkVerb
from holdfast.core.task_states import State
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from holdfastd.web.queue import found_tasks
from tests.web.site import Site, site
from tests.web.test_bulk import ended

pytestmark = pytest.mark.anyio

BULK = "/api/v1/bulk"


async def submitted(here: Site, number: int) -> None:
    await here.manager.run_tasks([TaskSpec(text=f"word {n}", task_id=f"t{n:03}") for n in range(number)])


async def begun(here: Site, **body: object) -> httpx.Response:
    return await here.program.post(BULK, json=body)


async def test_what_a_filter_finds_is_counted_changed_and_written_down(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_tasks, "LONGEST", 60.0)  # seconds: all is counted for one answer
    async with site(redis_settings) as here:
        await submitted(here, 120)
        count = (await here.program.get(f"{BULK}/cancel/count", params={"text": "word 1"})).json()
        assert count == {"found": 31, "searched": 120, "of": 120, "cursor": ""}, "1, 10 to 19, 100 to 119"
        answer = await begun(here, verb="cancel", text="word 1", reason="a mistake")
        assert (answer.status_code, answer.json()["state"], answer.json()["filter"]) == (202, "running", "text=word+1")
        assert (await ended(here)).state is BulkState.DONE
        path = f"{BULK}/{answer.json()['change_id']}"
        done = (await here.program.get(path)).json()
        assert (done["changed"], done["refused"], done["searched"]) == (31, 0, 120)
        reason = "a mistake (canceled with others by token, from 192.0.2.7)"
        assert (done["reason"], (await here.manager.get_task("t111")).reason) == ("a mistake", reason)
        assert (await here.program.get(BULK)).json() == {"changes": [done]}
        noted = {(each.change, each.subject, each.outcome) for each in await here.store.activity_before("", 9)}
        assert noted == {
            ("bulk/begin", done["change_id"], "begun: cancel unfinished tasks with the text “word 1”"),
            ("bulk/cancel", done["change_id"], "done: 31 changed, 0 refused of 120 searched"),
        }


async def test_a_count_goes_on_where_an_answer_has_stopped(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_tasks, "LONGEST", 0.0)
    async with site(redis_settings) as here:
        await submitted(here, 120)
        first = (await here.program.get(f"{BULK}/cancel/count", params={"text": "word"})).json()
        assert (first["found"], first["searched"], first["of"]) == (99, 99, 120)
        asked = {"text": "word"} | {name: first[name] for name in ("found", "searched", "cursor")}
        second = (await here.program.get(f"{BULK}/cancel/count", params=asked)).json()
        assert (second["found"], second["searched"]) == (120, 120)


@pytest.mark.parametrize("asked", [{}, {"text": "word"}])
async def test_a_count_cannot_go_on_from_a_place_that_none_has_told(
    redis_settings: RedisSettings, asked: dict[str, str]
) -> None:
    async with site(redis_settings) as here:
        answer = await here.program.get(f"{BULK}/cancel/count", params={**asked, "cursor": "nowhere"})
        assert (answer.status_code, "the cursor of the previous page" in answer.json()["detail"]) == (400, True)


async def test_a_change_is_stopped_and_goes_on_over_the_api(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await submitted(here, 60)
        change = asked_change(BulkVerb.CANCEL, TaskFilter(), who="w", origin="o")
        await here.store.begin_bulk(replace(change, change_id="c1"))
        stopped = await here.program.post(f"{BULK}/c1/stop")
        assert (stopped.status_code, stopped.json()["state"]) == (200, "stopped")
        again = await here.program.post(f"{BULK}/c1/stop")
        assert (again.status_code, "no running bulk change" in again.json()["detail"]) == (409, True)
        assert (await here.program.post(f"{BULK}/c1/go-on")).json()["state"] == "running"
        assert ((await ended(here)).changed, await here.manager.count_tasks("canceled")) == (60, 60)
        assert (await here.program.post(f"{BULK}/c1/go-on")).status_code == 409
        assert (await here.program.get(f"{BULK}/none")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"verb": "pause"},
        {"verb": "cancel", "state": ["completed"]},
        {"verb": "cancel", "state": "submitted"},
        {"verb": "cancel", "text": "x" * 300},
        {"verb": "cancel", "owner": "a b"},
        {"verb": "cancel", "newer": "soon"},
        {"verb": "cancel", "limit": 5},
    ],
)
async def test_a_change_that_cannot_be_is_refused_and_begins_nothing(
    redis_settings: RedisSettings, body: dict[str, object]
) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task("x", task_id="t")
        assert (await begun(here, **body)).status_code == 400
        assert await here.store.bulk_changes(9) == ()
        assert (await here.program.get(f"{BULK}/pause/count")).status_code == 404
        assert (await here.manager.get_task("t")).state is State.SUBMITTED


async def test_a_viewer_counts_and_begins_nothing(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        assert (await here.program.get(f"{BULK}/cancel/count")).status_code == 200
        for answer in (await begun(here, verb="cancel"), await here.program.post(f"{BULK}/c/stop")):
            assert answer.status_code == 403


def test_a_filter_names_ages_that_can_be_read_again() -> None:
    change = asked_change(BulkVerb.CANCEL, TaskFilter(older=30 * 86400.0), who="w", origin="o")
    assert change.query == "older=30d"
