"""`supervisor doctor` against real servers that are not as they should be."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from redis import Redis

from tests.cli.commands import ROOT, Answer, Cli
from tests.servers import serve

QUEUE = "bindu:tasks"
HEALTHY = ("--appendonly", "yes", "--maxmemory", "200mb")


@pytest.fixture
def doctor(short_path: Path) -> Cli:
    """A folder without a running supervisor; the examples are the application."""
    places = ("--runtime-dir", str(short_path / "run"), "--state-dir", str(short_path / "state"))
    return Cli(short_path, ("--json", "--app-dir", str(ROOT), *places))


def amiss(answer: Answer) -> dict[tuple[str, str], dict[str, str]]:
    """The warnings and problems, by subject and look, but for those of a machine that is busy right now."""
    bad = [
        finding for finding in answer.document if finding["level"] in ("warning", "problem") and not is_busy(finding)
    ]
    return {(finding["subject"], finding["look"]): finding for finding in bad}


def is_busy(finding: dict[str, str]) -> bool:
    return (finding["subject"], finding["look"]) in {("redis", "latency"), ("redis", "clock")}


def ask(doctor: Cli, url: str, *options: str) -> Answer:
    return doctor("doctor", "examples.agent:handle", "--redis-url", url, *options)


def user(url: str, login: str) -> str:
    return url.replace("unix://", f"unix://{login}@")


def test_where_all_is_well_nothing_is_amiss(doctor: Cli, short_path: Path) -> None:
    with serve(short_path, *HEALTHY) as server:
        answer = ask(doctor, server.url, "--strict")
    assert amiss(answer) == {}
    assert answer.status == any(is_busy(finding) and finding["level"] == "warning" for finding in answer.document)
    assert {finding["subject"] for finding in answer.document} >= {
        "kernel", "python", "limits", "settings", "handler", "folders", "redis", "queue", "supervisor", "unit"
    }  # fmt: skip
    assert all(finding.keys() == {"level", "subject", "look", "found", "fix"} for finding in answer.document)


def test_a_server_that_evicts_keeps_nothing_and_is_full(doctor: Cli, short_path: Path) -> None:
    options = ("--maxmemory", "500kb", "--maxmemory-policy", "allkeys-lru", "--maxclients", "5", "--timeout", "20")
    with serve(short_path, *options) as server:
        answer = ask(doctor, server.url)
    assert answer.status == 1
    assert {look: finding["level"] for (_, look), finding in amiss(answer).items()} == {
        "eviction": "problem", "memory": "problem", "persistence": "warning", "connections": "warning",
        "idle connections": "warning",
    }  # fmt: skip


def test_keys_that_belong_to_nothing_are_found_and_a_large_store_is_left_alone(doctor: Cli, short_path: Path) -> None:
    with serve(short_path, *HEALTHY) as server, Redis.from_url(server.url) as admin:
        assert Cli(short_path)("submit", "text", "--redis-url", server.url).status == 0
        assert ("queue", "orphan keys") not in amiss(ask(doctor, server.url))
        admin.hset("{bindu:tasks}:worker:gone:running", "t", "1")
        admin.set("ballast", b"x" * (17 << 20))
        findings = amiss(ask(doctor, server.url, "--deep"))
        shallow = ask(doctor, server.url)
    assert "worker:gone:running" in findings["queue", "orphan keys"]["found"]
    assert "task t runs and has no record" in findings["queue", "invariants"]["found"]
    [note] = [finding for finding in shallow.document if finding["look"] == "invariants"]
    assert (note["level"], "--deep" in note["fix"]) == ("note", True)


def test_warnings_alone_are_no_failure_unless_strict(doctor: Cli, short_path: Path) -> None:
    with serve(short_path) as server:
        assert ask(doctor, server.url).status == 0
        assert ask(doctor, server.url, "--strict").status == 1


def test_a_wrong_password_is_one_problem_and_is_not_shown(doctor: Cli, short_path: Path) -> None:
    with serve(short_path, "--requirepass", "right") as server:
        answer = ask(doctor, user(server.url, ":hunter2"))
    assert answer.status == 1
    ((where, problem),) = amiss(answer).items()
    assert where == ("redis", "connection")
    assert "invalid username-password" in problem["found"]
    assert "hunter2" not in answer.out + answer.err
    assert "handler" in {finding["subject"] for finding in answer.document}


def test_a_user_without_rights_is_told_which_and_how_to_get_them(doctor: Cli, short_path: Path) -> None:
    with serve(short_path, *HEALTHY) as server, Redis.from_url(server.url) as admin:
        rules: Any = ["on", ">pw", f"~{QUEUE}", "~{" + QUEUE + "}:*", "&*", "+@all", "-@admin", "-hset", "-info"]
        admin.execute_command("ACL", "SETUSER", "clerk", *rules)
        answer = ask(doctor, user(server.url, "clerk:pw"))
        missing = amiss(answer)["redis", "rights"]
        assert "user clerk may not run INFO, HSET {bindu:tasks}:*" in missing["found"]
        admin.execute_command(*missing["fix"].split(";")[0].split())
        repaired = amiss(ask(doctor, user(server.url, "clerk:pw")))
    assert ("redis", "rights") not in repaired


def test_a_server_that_is_away_is_one_problem(doctor: Cli, short_path: Path) -> None:
    answer = ask(doctor, f"unix://{short_path}/nothing.sock")
    assert answer.status == 1
    assert list(amiss(answer)) == [("redis", "connection")]


def test_a_frozen_server_is_one_problem_and_nothing_hangs(doctor: Cli, short_path: Path) -> None:
    with serve(short_path) as server:
        os.kill(server.pid, signal.SIGSTOP)
        answer = ask(doctor, server.url)
        os.kill(server.pid, signal.SIGCONT)
    assert answer.status == 1
    assert list(amiss(answer)) == [("redis", "connection")]


@contextmanager
def pushing_at_the_head(url: str) -> Iterator[None]:
    """A producer that LPUSHes all the time."""
    stop, number = Event(), 0
    with Redis.from_url(url) as client:
        client.lpush(QUEUE, "first", "second")

        def push() -> None:
            nonlocal number
            while not stop.wait(0.02):
                number += 1
                client.lpush(QUEUE, f'{{"operation": "run", "params": {{"task_id": "t{number}"}}}}')

        thread = Thread(target=push)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@contextmanager
def popping(url: str) -> Iterator[None]:
    """Somebody else's worker, blocked in BLPOP on an empty list."""
    with socket.socket(socket.AF_UNIX) as stream, Redis.from_url(url) as client:
        stream.connect(url.removeprefix("unix://"))
        stream.sendall(b"BLPOP other:list 0\r\n")
        while client.info("clients")["blocked_clients"] == 0:  # type: ignore[index]  # it is the synchronous client
            pass
        yield


def test_other_consumers_and_producers_at_the_wrong_end_are_seen(doctor: Cli, short_path: Path) -> None:
    with serve(short_path, *HEALTHY) as server, pushing_at_the_head(server.url), popping(server.url):
        findings = amiss(ask(doctor, server.url))
    assert "blpop" in findings["queue", "other consumers"]["found"]
    assert "LPUSH" in findings["queue", f"lane {QUEUE}"]["found"]
    assert "no live worker serves the lane" in findings["queue", f"workers of lane {QUEUE}"]["found"]


def test_bad_settings_are_problems_and_the_machine_is_looked_at_anyway(doctor: Cli, short_path: Path) -> None:
    (short_path / "supervisor.toml").write_text('workers = "many"\nwrokers = 3\n')
    answer = doctor("doctor")
    assert answer.status == 1
    problems = [finding["found"] for finding in answer.document if finding["subject"] == "settings"]
    assert len(problems) == 2
    assert "kernel" in {finding["subject"] for finding in answer.document}
    (short_path / "supervisor.toml").write_text("workers = \n")
    assert "not TOML" in doctor("doctor").document[0]["found"]


def test_a_handler_that_cannot_be_imported_is_a_problem(doctor: Cli, short_path: Path) -> None:
    answer = doctor("doctor", "examples.nothing:handle")
    assert answer.status == 1
    ((where, problem),) = amiss(answer).items()
    assert where == ("handler", "import and signature"), "an embedded store that nobody has started is none"
    assert "no module examples.nothing" in problem["found"]


def test_a_running_supervisor_and_its_store_are_in_order(pool: Cli) -> None:
    answer = pool("doctor", "examples.wordcount:handle", "--json", "--workers", "2")
    assert answer.status == 0, answer.out
    findings = {(finding["subject"], finding["look"]): finding for finding in answer.document}
    assert answer.document[0]["subject"] == "supervisor", "what runs comes first"
    assert findings["supervisor", "state"]["found"] == "2 of 2 workers are ready"
    assert findings["queue", "stewards"]["level"] == "ok"
    assert "AOF" in findings["redis", "persistence"]["found"]


def test_people_are_told_the_fix_under_its_finding(pool: Cli) -> None:
    whole = pool("doctor", "examples.wordcount:handle", "--all").out.splitlines()
    assert any(line.startswith("ok       redis") for line in whole)
    assert whole[-1].startswith("problem: 0, ")
    lines = pool("doctor", "examples.wordcount:handle").out.splitlines()
    assert not [line for line in lines if line.startswith("ok ")]
    assert lines[-1] == f"{whole[-1]} (--all shows these)"
    amiss = [line.split()[0] for line in whole[:-1] if not line.startswith(("ok ", " "))]
    assert [line.split()[0] for line in lines[:-1] if not line.startswith(" ")] == amiss
