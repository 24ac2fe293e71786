"""Lanes that nobody serves, handlers that nobody has: every command says so, and a worker that has them ends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast_config import RedisSettings
from holdfastd.documents.printed_times import moment
from tests.cli.commands import NOBODY, Cli
from tests.cli.conftest import running

APP = """
from holdfast import Handlers

handlers = Handlers()
"""
FRESH = ("submit", "--name", "fresh", "--data", "{}", "--task-id", "t1", "--message-id", "m1")
HANDLER = """

@handlers.register("{name}")
async def {name}() -> str:
    return "{name} ran"
"""


def written(folder: Path, *names: str) -> Path:
    folder.mkdir()
    (folder / "app.py").write_text(APP + "".join(HANDLER.format(name=name) for name in names))
    return folder


@contextmanager
def serving(folder: Path, settings: RedisSettings, *options: str) -> Iterator[Cli]:
    """A supervisor of the handlers in `folder`, on the session's server; commands that ask there."""
    store = ("--redis-url", settings.url, "--queue-name", settings.queue)
    with running(folder, "app:handlers", *store, *options) as (cli, _):
        yield Cli(folder, (*cli.options, *store))


@pytest.fixture
def old(short_path: Path, redis_settings: RedisSettings) -> Iterator[Cli]:
    lanes = f"{redis_settings.queue}=3;timeout=90s,mail=2"
    with serving(written(short_path / "old", "known"), redis_settings, "--lanes", lanes) as cli:
        yield cli


def test_a_task_waits_through_a_rolling_deployment(old: Cli, short_path: Path, redis_settings: RedisSettings) -> None:
    answer = old(*FRESH)
    task_id = answer.out.strip()
    assert "no live worker of lane" in answer.err
    assert "has handler fresh" in answer.err
    assert old("submit", "--name", "known", "--data", "{}", "--wait").status == 0
    shown = old("why", task_id).out
    assert "waits beside lane" in shown
    assert "has handler fresh" in shown
    assert "it fails in" in shown
    with serving(written(short_path / "new", "known", "fresh"), redis_settings) as new:
        assert "fresh ran" in new(*FRESH, "--wait").out
        assert "set aside until a worker with handler fresh" in new("why", task_id).out
        assert new("submit", "--name", "fresh", "--data", "{}").err == ""


def test_every_view_names_the_handler_that_is_missing(old: Cli) -> None:
    old("submit", "--name", "fresh", "--data", "{}")
    old("submit", "--name", "known", "--data", "{}", "--wait")  # the worker has met the one before it
    assert "no worker has handler fresh" in old("lanes", "list").out
    status = old("status").out
    assert "no live worker of lane" in status
    assert "1 worker on all hosts" in status
    assert "has handler fresh; 1 task waits for it" in old("doctor").out


def test_a_lane_that_nobody_serves_is_told(old: Cli) -> None:
    answer = old("submit", "hello", "--lane", "lonely")
    assert "no live worker serves lane lonely" in answer.err
    shown = old("why", answer.out.strip()).out
    assert "is the first in lane lonely; no live worker serves lane lonely" in shown
    assert "is the next" not in shown
    assert "no worker serves it" in old("lanes", "list").out
    assert "lane lonely: no live worker serves it, 1 waiting" in old("status").out
    assert "no live worker serves the lane, and 1 task waits in it" in old("doctor").out


def test_a_paused_lane_is_told(old: Cli) -> None:
    old("lanes", "pause", "mail", "--create", "--reason", "no mail today")
    answer = old("submit", "--name", "known", "--data", "{}", "--lane", "mail")
    assert "lane mail is paused (no mail today (paused by " in answer.err
    assert ")): supervisor lanes resume mail" in answer.err
    assert (
        "is the first in lane mail; lane mail is paused (no mail today (paused by "
        in old("why", answer.out.strip()).out
    )
    old("lanes", "resume", "mail")


def test_a_queue_that_nobody_serves_is_told_and_the_answer_stays_as_it_is(
    short_path: Path, redis_settings: RedisSettings
) -> None:
    store = ("--redis-url", redis_settings.url, "--queue-name", redis_settings.queue)
    answer = Cli(short_path, store)("submit", "hello", "--task-id", "t1", "--message-id", "m1")
    assert (answer.status, answer.out, answer.err) == (0, "t1\n", NOBODY)


def test_why_tells_the_limits_of_the_service_and_not_of_the_shell(
    short_path: Path, redis_settings: RedisSettings
) -> None:
    folder = written(short_path / "old", "known")
    limits = ("--keep", "1h", "--max-attempts", "7", "--unknown-handler-timeout", "3h")
    with serving(folder, redis_settings, *limits) as cli:
        cli("submit", "--name", "known", "--data", "{}", "--task-id", "t0", "--wait")
        shown = cli("why", "t0", "--json").document
        kept = f"kept until {moment(shown['timeline'][-1]['at_ms'] + 3_600_000)}"
        assert shown["now"].endswith(kept)
        cli(*FRESH)
        cli("submit", "--name", "known", "--data", "{}", "--wait")  # the worker has met the one before it
        fails = cli("why", "t1").out
        assert "it fails in 2h 59m or later" in fails or "it fails in 3h 0m" in fails
        assert "(--unknown-handler-timeout)" in fails
    after = cli("why", "t0").out
    assert "by the settings of this command" in after
    assert kept not in after


def test_weights_and_timeouts_are_those_of_the_workers(old: Cli) -> None:
    lanes = {lane["lane"]: lane for lane in old("lanes", "list", "--json").document["lanes"]}
    assert (lanes["mail"]["weight"], lanes["mail"]["timeout"], lanes["mail"]["workers"]) == (2, None, 1)
    assert sorted((lane["weight"], lane["timeout"]) for lane in lanes.values()) == [(2, None), (3, 90.0)]


def test_nobody_comes_in_time(short_path: Path, redis_settings: RedisSettings) -> None:
    folder = written(short_path / "old", "known")
    with serving(folder, redis_settings, "--unknown-handler-timeout", "1s") as cli:
        assert cli(*FRESH, "--wait").status == 1
        task_id = "t1"
        assert f"no worker has served handler fresh in lane {redis_settings.queue}" in cli("why", task_id).out
        assert [letter["task_id"] for letter in cli("dead", "list", "--json").lines] == [task_id]


def test_a_burst_leaves_it_and_says_so(short_path: Path, redis_settings: RedisSettings) -> None:
    folder = written(short_path / "old", "known")
    store = ("--redis-url", redis_settings.url, "--queue-name", redis_settings.queue)
    places = ("--runtime-dir", str(folder / "run"))
    cli = Cli(folder, (*store, *places))
    cli("submit", "--name", "fresh", "--data", "{}")
    cli("submit", "--name", "known", "--data", "{}")
    burst = cli("start", "app:handlers", "--burst", "--state-dir", str(folder / "state"))
    assert burst.status == 0
    assert "1 completed; 1 task stays for handlers that no live worker has" in burst.err
