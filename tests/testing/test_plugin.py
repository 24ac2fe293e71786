"""The pytest plugin, as a user's project has it: its fixture, its errors, its cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.projects import run_tests

AGENT = """
from holdfast import Handlers, Task

handlers = Handlers()


@handlers.register("greet")
async def greet(task: Task, name: str) -> str:
    return f"Hello, {name}!"


@handlers.register("welcome")
def welcome(names: list[str]) -> int:
    for name in names:
        greet.submit_sync(name)
    return len(names)
"""
SETTINGS = 'handler = "agent:handlers"\n'


def project(test: str) -> dict[str, str]:
    return {"agent.py": AGENT, "supervisor.toml": SETTINGS, "test_agent.py": test}


def test_sync_and_async_tests_share_one_fixture(tmp_path: Path) -> None:
    test = """
import asyncio

import pytest

from agent import greet, welcome


def test_sync(holdfast_broker):
    sent = welcome.submit_sync(["Ada", "Grace"])
    assert sent.wait().value == 2
    assert [task.parameters for task in holdfast_broker.submitted(greet)] == [{"name": "Ada"}, {"name": "Grace"}]


@pytest.mark.anyio
async def test_by_anyio(holdfast_broker):
    sent = await greet.submit("Ada")
    await holdfast_broker.run_until_idle()
    assert (await sent.record()).value == "Hello, Ada!"


@pytest.mark.asyncio
async def test_by_pytest_asyncio(holdfast_broker):
    sent = await greet.submit("Ada")
    assert (await sent.wait()).value == "Hello, Ada!"


def test_by_hand(holdfast_broker):
    async def use():
        sent = await greet.submit("Ada")
        return (await sent.wait()).value

    assert asyncio.run(use()) == "Hello, Ada!"
"""
    pytest.importorskip("pytest_asyncio")
    report = run_tests(tmp_path, project(test), "-o", "asyncio_default_fixture_loop_scope=function", asyncio=True)
    assert report.status == 0, report.out
    assert "4 passed" in report.out


def test_tests_are_independent_of_each_other_also_in_several_processes(tmp_path: Path) -> None:
    test = """
import pytest

from agent import greet


@pytest.mark.parametrize("turn", range(12))
def test_alone(holdfast_broker, turn):
    assert holdfast_broker.submitted() == []
    greet.options(task_id="the-same").submit_sync(f"number {turn}")
    assert holdfast_broker.assert_submitted(greet).parameters == {"name": f"number {turn}"}
    holdfast_broker.move_time_sync(days=turn)
"""
    report = run_tests(tmp_path, project(test), "-n", "2")
    assert report.status == 0, report.out
    assert "12 passed" in report.out


def test_without_handlers_the_fixture_says_how_to_give_some(tmp_path: Path) -> None:
    report = run_tests(tmp_path, {"test_x.py": "def test_it(holdfast_broker): ...\n"})
    assert report.status == 1
    assert "holdfast_broker has no handlers" in report.out
    assert "define a fixture `holdfast_handlers`" in report.out
    assert "Traceback" not in report.out


def test_handlers_that_cannot_be_imported_are_shown_with_their_traceback(tmp_path: Path) -> None:
    files = {
        "supervisor.toml": SETTINGS,
        "agent.py": "import nowhere\n",
        "test_x.py": "def test_it(holdfast_broker): ...\n",
    }
    report = run_tests(tmp_path, files)
    assert report.status == 1
    assert "importing agent failed" in report.out
    assert "import nowhere" in report.out


def test_settings_that_are_wrong_are_named(tmp_path: Path) -> None:
    files = {**project("def test_it(holdfast_broker): ...\n"), "supervisor.toml": "workers = 0\n"}
    report = run_tests(tmp_path, files)
    assert report.status == 1
    assert "holdfast_settings:" in report.out
    assert "workers" in report.out


def test_a_project_chooses_its_handlers_and_settings(tmp_path: Path) -> None:
    conftest = """
import pytest

from holdfast_config import Settings


@pytest.fixture
def holdfast_handlers():
    async def shout(messages):
        return messages[-1]["parts"][0]["text"].upper()

    return shout


@pytest.fixture
def holdfast_settings():
    return Settings(queue_name="shouts")
"""
    test = """
import pytest


@pytest.mark.anyio
async def test_text(holdfast_broker):
    task_id = await holdfast_broker.manager.run_task("hello")
    record = await holdfast_broker.manager.wait(task_id)
    assert record.value == "HELLO"
    assert holdfast_broker.assert_submitted(text="hello").lane == "shouts"
"""
    report = run_tests(tmp_path, {"conftest.py": conftest, "test_x.py": test})
    assert report.status == 0, report.out


def test_a_failure_shows_what_was_submitted_instead(tmp_path: Path) -> None:
    test = """
from agent import greet


def test_it(holdfast_broker):
    greet.submit_sync("Ada")
    holdfast_broker.assert_submitted(greet, name="Grace")
"""
    report = run_tests(tmp_path, project(test))
    assert report.status == 1
    assert "greet(name='Grace') was not submitted; submitted, 1 in all:" in report.out
    assert "greet(name='Ada') in bindu:tasks" in report.out
    assert "testing/broker.py" not in report.out, "the failure is shown in the user's test"


def test_the_environment_and_the_servers_that_it_names_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = """
import os

from agent import greet
from holdfast import create_broker
from holdfast.sync import TaskManager
from holdfast_config import load
import asyncio

os.environ["REDIS_URL"] = "redis://nowhere.invalid:1/0"
manager = TaskManager(load().redis)


def test_sync_manager(holdfast_broker):
    task_id = manager.run_task(name="greet", kwargs={"name": "Ada"})
    assert manager.wait(task_id).value == "Hello, Ada!"
    assert manager.schedules.list().schedules == ()
    assert len(holdfast_broker.submitted(greet)) == 1


def test_the_same_manager_in_the_next_test(holdfast_broker):
    assert manager.count_tasks() == 0


def test_create_broker(holdfast_broker):
    async def use():
        async with create_broker() as broker:
            sent = await greet.submit("Ada")
            return (await broker.manager.wait(sent.task_id)).value

    assert asyncio.run(use()) == "Hello, Ada!"
"""
    report = run_tests(tmp_path, project(test))
    assert report.status == 0, report.out


def test_pytest_starts_without_anything_of_holdfast_but_the_plugin() -> None:
    """Each user's pytest imports the plugin, also for projects that do not use it."""
    script = (
        "import sys, pytest; before = set(sys.modules); import holdfast.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["holdfast", "holdfast.testing", "holdfast.testing.plugin"]


def test_the_plugin_is_found_by_its_entry_point(tmp_path: Path) -> None:
    report = run_tests(tmp_path, {}, "--fixtures")
    assert "holdfast_broker" in report.out
