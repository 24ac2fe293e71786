"""`supervisor batches` against a real store: list, show, seal, cancel, and what is refused."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import BatchPlace, SubmitOptions
from holdfast.store.redis import RedisStore
from tests.cli.commands import Cli
from tests.lua.operations import submission

if TYPE_CHECKING:
    from holdfast_config import RedisSettings


async def submit(settings: RedisSettings, batch: str, number: int) -> None:
    store = RedisStore(settings)
    manager = TaskManager(store, queue=settings.queue)
    await manager.run_tasks([TaskSpec(text="x")] * number, batch=batch, then=TaskSpec(text="all"))
    await store.aclose()


async def submit_half(settings: RedisSettings, batch: str) -> None:
    """As a producer that has died: one task of two."""
    store = RedisStore(settings)
    options = SubmitOptions(batch=BatchPlace(batch, 1, 2, "d1"))
    await store.submit_with_options([submission(f"{batch}.1", settings.queue, options=options)])
    await store.aclose()


@pytest.fixture
def batches(redis_settings: RedisSettings) -> None:
    anyio.run(submit, redis_settings, "import-1", 3)
    anyio.run(submit_half, redis_settings, "import-2")


@pytest.mark.usefixtures("batches")
def test_batches_are_listed_with_their_counts(inside: Cli) -> None:
    rows = {row["batch"]: row for row in inside("batches", "list", "--json").document["batches"]}
    whole, half = rows["import-1"], rows["import-2"]
    assert (whole["state"], whole["counts"]["total"], whole["counts"]["open"]) == ("sealed", 3, 3)
    assert (whole["callback"], whole["sealed_by"]) == ("import-1.then", "producer")
    assert (half["state"], half["counts"]["total"], half["expected"], half["callback"]) == ("open", 1, 2, None)
    listed = inside("batches", "list").out
    assert "1 of 2" in listed
    assert "import-1.then" in listed


@pytest.mark.usefixtures("batches")
def test_a_batch_is_shown_by_its_id_or_the_beginning_of_it(inside: Cli) -> None:
    assert "of 2" in inside("batches", "show", "import-2").out
    shown = inside("batches", "show", "import-2", "--tasks", "open", "--json").document
    assert shown["tasks"] == ["import-2.1"]
    several = inside("batches", "show", "import")
    assert several.status == 1
    assert "import fits more than one batch: import-2, import-1; give more of the id" in several.err
    unknown = inside("batches", "show", "nobody")
    assert unknown.status == 1
    assert "no batch nobody; a batch that ended long ago is forgotten; known: import-1, import-2" in unknown.err
    assert inside("batches", "show", "a b").status == 2


@pytest.mark.usefixtures("batches")
def test_a_batch_of_a_dead_producer_is_shown_as_open_until_it_is_sealed(inside: Cli) -> None:
    assert "if its producer is gone" in inside("batches", "show", "import-2").out
    assert inside("batches", "seal", "import-2").out == "import-2 sealed with 1 task, 1 open\n"
    assert inside("batches", "seal", "import-2").out == "import-2 was sealed already with 1 task, 1 open\n"
    assert inside("batches", "seal", "import-2", "--json").document["sealed_by"] == "operator"
    assert inside("batches", "seal", "import").status == 1  # a command that changes something takes whole ids


@pytest.mark.usefixtures("batches")
def test_a_cancel_asks_first_and_ends_the_callback_and_the_tasks(inside: Cli) -> None:
    refused = inside("batches", "cancel", "import-1")
    assert (refused.status, "add --yes to confirm" in refused.err) == (2, True)
    assert inside("tasks", "show", "import-1.then", "--json").document["state"] == "waiting"
    assert inside("batches", "cancel", "import-1", "--yes").out == "import-1 canceled, with 3 tasks\n"
    assert inside("tasks", "show", "import-1.then", "--json").document["state"] == "canceled"
    again = inside("batches", "cancel", "import-1...", "--yes", "--json").document
    assert (again["state"], again["canceled_now"]) == ("canceled", 0)
    assert inside("batches", "cancel", "nobody", "--yes").status == 1


@pytest.mark.usefixtures("batches")
def test_why_names_the_batch_of_a_task_and_of_a_callback(inside: Cli) -> None:
    assert "a task of batch import-1: 3 of 3 tasks open" in inside("why", "import-1.2").out
    told = inside("why", "import-1.then").out
    assert "waits until batch import-1 (3 of 3 tasks open) has ended" in told
    assert "waits for batch import-1 to end" in told
    document = json.loads(inside("why", "import-1.then", "--json").out)
    assert document["batch"] == "import-1"
    inside("tasks", "cancel", "import-1.1", "import-1.2", "import-1.3")
    assert "batch import-1 has ended" in inside("why", "import-1.then").out
    events = inside("events").out
    assert "batch-sealed" in events
    assert "batch-ended" in events


def test_many_batches_are_listed_page_by_page(inside: Cli, redis_settings: RedisSettings) -> None:
    for number in range(3):
        anyio.run(partial(submit, redis_settings, f"b{number}", 1))
    first = inside("batches", "list", "--limit", "2", "--json").document
    rest = inside("batches", "list", "--limit", "2", "--cursor", first["cursor"], "--json").document
    assert {row["batch"] for row in (*first["batches"], *rest["batches"])} == {"b0", "b1", "b2"}
    assert rest["cursor"] == ""
    assert "cursor" in inside("batches", "list", "--cursor", "nonsense").err
