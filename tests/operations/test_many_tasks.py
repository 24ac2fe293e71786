"""The acts on changes of many tasks, through each of their faces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.client.bulk_steps import asked_change
from holdfast.client.task_filter import TaskFilter
from holdfast.client.task_spec import TaskSpec
from holdfast.core.bulk_changes import BulkState, BulkVerb
from holdfast_config import RedisSettings
from holdfastd.operations.many_tasks import BEGIN_BULK, GO_ON_WITH_BULK, STOP_BULK
from tests.cli.commands import Cli
from tests.operations.faces import FACES, Case
from tests.web.site import Site, site
from tests.web.test_bulk import ended

pytestmark = pytest.mark.anyio

BEGIN = ("POST", "/bulk")
CANCEL = ("tasks", "cancel", "--yes")
STOP = Case(STOP_BULK, "c1", ("tasks", "bulk", "stop", "c1"), ("POST", "/bulk/{}/stop"))
GO_ON = Case(GO_ON_WITH_BULK, "c1", ("tasks", "bulk", "go-on", "c1"), ("POST", "/bulk/{}/go-on"))


def given_to(face: str, **given: object) -> dict[str, object]:
    """A command has its verb in its name; a form has one state, and the API several."""
    verb = {} if face == "command" else {"verb": "cancel"}
    return verb | {name: [value] if (name, face) == ("state", "route") else value for name, value in given.items()}


async def submitted(here: Site, number: int) -> None:
    await here.manager.run_tasks([TaskSpec(text=f"word {n}", task_id=f"t{n:03}") for n in range(number)])


@pytest.mark.parametrize("face", FACES)
async def test_a_change_of_many_tasks_begins_in_the_same_way_through_each_face(
    redis_settings: RedisSettings, cli: Cli, face: str
) -> None:
    async with site(redis_settings) as here:
        await submitted(here, 120)
        given = given_to(face, text="word 1", state="submitted", newer="1h")
        said = await FACES[face](cli, here, Case(BEGIN_BULK, "", CANCEL, BEGIN, given))
        assert said.refusal == ""
        change = await ended(here)
        assert (change.state, change.changed, change.searched) == (BulkState.DONE, 31, 120)
        assert (change.who, change.origin) == (said.note.who, said.note.origin)
        notes = {(each.change, each.subject): each.outcome for each in await here.store.activity_before("", 10)}
        begun = "begun: cancel submitted tasks with the text “word 1”, newer than 1 hour"
        assert notes.pop(("bulk/begin", change.change_id)) == begun
        assert notes.pop(("bulk/cancel", change.change_id), "done: 31").startswith("done: 31")
        assert not notes


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"newer": "soon"}, "newer 'soon': a duration is expected"),
        ({"text": "x" * 300}, "characters to search for"),
        ({"state": "completed"}, "state: cancel changes no task that is completed"),
        ({"owner": "a b"}, "owner"),
    ],
)
async def test_a_change_that_cannot_be_is_refused_by_each_face(
    redis_settings: RedisSettings, cli: Cli, face: str, given: dict[str, object], refusal: str
) -> None:
    async with site(redis_settings) as here:
        await submitted(here, 1)
        said = await FACES[face](cli, here, Case(BEGIN_BULK, "", CANCEL, BEGIN, given_to(face, **given)))
        assert refusal in " ".join(said.refusal.split())
        assert (said.note.change, said.note.is_refused) == ("bulk/begin", True)
        assert refusal in said.note.outcome
        assert await here.store.bulk_changes(9) == ()
        assert len(await here.store.activity_before("", 10)) == 1


@pytest.mark.parametrize("face", FACES)
async def test_it_is_stopped_and_goes_on_through_each_face(redis_settings: RedisSettings, cli: Cli, face: str) -> None:
    async with site(redis_settings) as here:
        await submitted(here, 60)
        change = replace(asked_change(BulkVerb.CANCEL, TaskFilter(), who="w", origin="o"), change_id="c1")
        await here.store.begin_bulk(change)
        for case, again in ((STOP, "no running bulk change"), (GO_ON, "no stopped bulk change")):
            made = await FACES[face](cli, here, case)
            assert made.refusal == ""
            if case is GO_ON:
                assert (await ended(here)).changed == 60
            refused = await FACES[face](cli, here, case)
            assert f"change of many tasks 'c1': {again}" in refused.refusal
            assert (refused.note.change, refused.note.subject) == (case.act.name, "c1")
            assert (refused.note.is_refused, again in refused.note.outcome) == (True, True)
        notes = [(each.change, each.is_refused) for each in await here.store.activity_before("", 10)]
        assert sorted(notes) == [
            ("bulk/cancel", False),
            *[("bulk/go-on", refused) for refused in (False, True)],
            *[("bulk/stop", refused) for refused in (False, True)],
        ]
