"""A client that a well-known generator makes of the OpenAPI document works with a real pool and its web process."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.cli.commands import clean
from tests.cli.conftest import running
from tests.docs.test_code_blocks import blocks
from tests.web.test_process import LOGIN, TOKEN, free_port

GENERATOR = Path(sys.executable).with_name("openapi-python-client")
NAME = "holdfast_client"  # after the title of the document
PAGE = Path(__file__).parents[2] / "docs/api.md"


@dataclass(frozen=True)
class Generated:
    """The client, which is in `folder`. `call("tasks", "get_task", …)` is its function of this operation,
    `model("TaskSpec")` its class of this name."""

    folder: Path
    client: Any

    def call(self, tag: str, operation: str, *path: str, **given: Any) -> Any:
        answer = self.answer(tag, operation, *path, **given)
        assert answer.status_code < 400, answer.content
        return answer.parsed

    def answer(self, tag: str, operation: str, *path: str, **given: Any) -> Any:
        return self._module(f"api.{tag}.{operation}").sync_detailed(*path, client=self.client, **given)

    def model(self, name: str, **given: Any) -> Any:
        return getattr(self._module("models"), name)(**given)

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"{NAME}.{name}")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generated]:
    folder, port = tmp_path_factory.mktemp("g"), free_port()
    options = ("--workers", "1", "--web", str(port), "examples.wordcount:handle")
    with running(folder, *options, environ={"HOLDFAST_WEB_TOKEN": TOKEN}), pytest.MonkeyPatch.context() as patch:
        address = f"http://127.0.0.1:{port}/api/v1"
        generate(httpx.get(f"{address}/openapi.json", headers=LOGIN, timeout=60).json(), folder)
        patch.syspath_prepend(folder)
        made = importlib.import_module(NAME).AuthenticatedClient(
            base_url=address, token=TOKEN, raise_on_unexpected_status=True, timeout=httpx.Timeout(60)
        )
        with made:
            yield Generated(folder, made)


def generate(document: object, folder: Path) -> None:
    """Anything that the generator leaves out is a warning, and a warning is an error."""
    (folder / "openapi.json").write_text(json.dumps(document))
    (folder / "settings.json").write_text(json.dumps({"post_hooks": []}))
    words = [GENERATOR, "generate", "--path", "openapi.json", "--config", "settings.json", "--meta", "none"]
    ran = subprocess.run(
        [*words, "--output-path", NAME, "--fail-on-warning"], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "WARNING" not in ran.stdout + ran.stderr


def test_a_task_is_submitted_waited_for_and_listed(generated: Generated) -> None:
    spec = generated.model("TaskSpec", text="one two three", task_id="words")
    assert generated.call("tasks", "submit_tasks", body=spec).answer == "new"
    assert generated.call("tasks", "submit_tasks", body=spec).answer == "duplicate"
    task = generated.call("tasks", "get_task", "words", wait=60)
    assert (task.state, task.result["words"]) == ("completed", 3)
    assert task.created <= task.finished, "moments are read as such"
    listed = generated.call("tasks", "list_tasks", state=[task.state], limit=10)
    assert [(each.task_id, each.name) for each in listed.tasks] == [("words", "")]
    why = generated.call("tasks", "why_task", "words")
    assert [line.event for line in why.timeline] == ["accepted", "claimed", "settled"]
    assert why.times.runs == 1


def test_several_are_submitted_at_once(generated: Generated) -> None:
    several = [generated.model("TaskSpec", data={"n": n}, task_id=f"of-{n}", delay=3600.0) for n in range(2)]
    receipts = generated.call("tasks", "submit_tasks", body=several)
    assert [(each.task_id, each.answer) for each in receipts] == [("of-0", "new"), ("of-1", "new")]
    assert generated.call("queue", "queue_count").delayed >= 2


def test_a_task_is_canceled_and_run_again(generated: Generated) -> None:
    spec = generated.model("TaskSpec", text="one", task_id="again", delay=3600.0)
    assert generated.call("tasks", "submit_tasks", body=spec).answer == "new"
    reason = generated.model("ReasonedTask", reason="wrong region")
    assert generated.call("tasks", "cancel_task", "again", body=reason).state == "canceled"
    retried = generated.call("tasks", "retry_task", "again", body=generated.model("ReasonedTask"))
    assert (retried.answer, retried.runs_as) == ("new", "again.r1")
    assert generated.call("tasks", "get_task", "again.r1", wait=60).result["words"] == 1
    assert generated.call("tasks", "remove_task", "again.r1").removed


def test_a_schedule_is_set_fired_paused_and_removed(generated: Generated) -> None:
    spec = generated.model("ScheduleSpec", cron="0 2 * * *", timezone="Europe/Berlin", text="one two")
    put = generated.call("schedules", "put_schedule", "nightly", body=spec)
    assert put.word == "new"
    assert put.next_.tzinfo is not None
    found = generated.call("schedules", "get_schedule", "nightly")
    assert (found.state, found.spec.cron, found.spec.timezone) == ("active", "0 2 * * *", "Europe/Berlin")
    assert [each.schedule for each in generated.call("schedules", "list_schedules").schedules] == ["nightly"]
    assert len(generated.call("schedules", "next_fires", "nightly", count=3).next_) == 3
    task_id = generated.call("schedules", "run_schedule", "nightly").task_id
    assert generated.call("tasks", "get_task", task_id, wait=60).result["words"] == 2
    pause = generated.model("PauseSchedule", reason="holidays")
    assert generated.call("schedules", "pause_schedule", "nightly", body=pause).word == "paused"
    assert generated.call("schedules", "get_schedule", "nightly").state == "paused"
    assert generated.call("schedules", "schedule_history", "nightly").history
    assert generated.call("schedules", "resume_schedule", "nightly").word == "resumed"
    assert generated.call("schedules", "remove_schedule", "nightly").word == "removed"


def test_entries_are_peeked_and_lanes_and_workers_listed(generated: Generated) -> None:
    assert generated.call("queue", "queue_peek").entries == []
    [lane] = generated.call("lanes", "list_lanes").lanes
    assert lane.lane == "bindu:tasks"
    [worker] = generated.call("workers", "list_workers").workers
    assert worker.kind == "worker"


def test_an_error_is_a_problem_with_its_reason(generated: Generated) -> None:
    missing = generated.answer("tasks", "get_task", "nobody")
    assert (missing.status_code, missing.parsed.type_) == (404, "urn:holdfast:unknown-task")
    wrong = generated.answer("tasks", "submit_tasks", body=generated.model("TaskSpec", text="x", delay=-1.0))
    assert (wrong.status_code, wrong.parsed.field) == (400, "delay")


def test_the_program_of_the_page_runs(generated: Generated) -> None:
    _, program = blocks(PAGE, "python")
    environ = clean({"API": generated.client._base_url, "TOKEN": TOKEN, "PYTHONPATH": str(generated.folder)})
    ran = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.stderr) == ("completed\n", "")
